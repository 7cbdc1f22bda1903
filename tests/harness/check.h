/* What every unit test includes: cmocka, and a way to test code that must abort. */
#ifndef WEFT_TESTS_CHECK_H
#define WEFT_TESTS_CHECK_H

#include "harness/cmocka_all.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs fn in a child whose stderr is dropped; true when the child ended by abort, or by a sanitizer's report. */
static inline bool dies(void (*fn)(void *arg), void *arg)
{
    pid_t child = fork();
    int how = 0;

    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        int null = open("/dev/null", O_WRONLY);

        setrlimit(RLIMIT_CORE, &no_core);
        dup2(null, 2);
        fn(arg);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &how, 0) != child)
        return false;
    return WIFSIGNALED(how) || (WIFEXITED(how) && WEXITSTATUS(how) != 0);
}

/* A small generator (SplitMix64) so that random tests can be repeated from their seed. */
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

#endif
