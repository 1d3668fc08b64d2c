// The search for x86-64 processors with BMI2 and AVX2: the bits of a signature are brought together by one instruction.
//
// The target is set here and not by a compiler flag, since setuptools gives all files of an extension the same flags. The
// standard headers stand before it, so that none of their code, which the linker may share, needs these instructions.
// FMA is left out on purpose: a fused multiplication and addition would give other bits.
#include "search.hpp"

#ifdef TERTULIA_HAS_AVX2_VARIANT
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif

#define TERTULIA_VARIANT avx2
#define TERTULIA_USE_BMI2 1
#include "bounds.hpp"
#include "search_variant.hpp"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
