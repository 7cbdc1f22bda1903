/* WEFT_VERSION and WEFT_REVISION come from cmake/revision.cmake. */
#include "weft/engine.h"

const char *weft_version(void)
{
    return WEFT_VERSION;
}

const char *weft_revision(void)
{
    return WEFT_REVISION;
}
