/* Numbers with a decimal point, whatever locale the process or the thread has set. */
#ifndef WEFT_BASE_C_LOCALE_H
#define WEFT_BASE_C_LOCALE_H

#include <locale.h>

typedef locale_t weft_c_locale;

/* For this thread, until leave. Nothing is allocated: the C locale is static in the C libraries that weft is built on. */
static inline weft_c_locale weft_c_locale_enter(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}
static inline void weft_c_locale_leave(weft_c_locale before)
{
    uselocale(before);
}

#endif
