// The search for x86-64 processors with AVX2: eight sums at a time.
//
// The target is set here and not by a compiler flag, since setuptools gives all files of an extension the same flags. The
// headers with code that the linker may share stand before it, so that none of it needs these instructions.
#include "search.hpp"

#ifdef TERTULIA_HAS_AVX2_VARIANT
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif

#define TERTULIA_VARIANT avx2
#include "search_variant.hpp"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
