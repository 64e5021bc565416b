/* cmocka, behind the headers that it needs. */
#ifndef TESTS_KIT_CMOCKA_H
#define TESTS_KIT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif
