#include "fis/network.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#define FLUSH_RESULTS 0x8000u
#define FLUSH_INPUTS 0x0040u
#endif

void fis_flush_denormals(void)
{
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | FLUSH_RESULTS | FLUSH_INPUTS);
#elif defined(__aarch64__)
    unsigned long mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    __asm__ volatile("msr fpcr, %0" : : "r"(mode | 1ul << 24));
#endif
}
