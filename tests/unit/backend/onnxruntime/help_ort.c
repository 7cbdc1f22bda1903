/* The rig of the conformance tests, for this folder. */
#include "../../../conformance/backend_rig.c"
