// Sixteen bytes at a time, with SSE2 where there is it (every 64-bit x86), else a byte at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if (defined(__SSE2__) || defined(_M_X64)) && !defined(TERTULIA_WITHOUT_SSE2)
#define TERTULIA_SSE2 1
#include <emmintrin.h>
#endif
#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace tertulia {

inline unsigned lowest_bit(unsigned mask) {
#if defined(_MSC_VER)
    unsigned long index = 0;
    _BitScanForward(&index, mask);
    return static_cast<unsigned>(index);
#else
    return static_cast<unsigned>(__builtin_ctz(mask));
#endif
}

// A byte of a value that is more than itself: the end ("), what may not stand there (<), a reference (&), a control
// character (the line end among them), and every byte of a character that is not ASCII.
inline bool is_special(std::uint8_t byte) {
    return byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '<' || byte == '&';
}

// How many of the sixteen bytes at p come before the first special one. All sixteen must be readable.
inline unsigned plain_run(const std::uint8_t* p) {
#ifdef TERTULIA_SSE2
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    // As signed numbers, the bytes from 0x80 on are below 0x20 too.
    const __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
    const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    const __m128i less = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('<'));
    const __m128i ampersand = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('&'));
    const __m128i any = _mm_or_si128(_mm_or_si128(low, quote), _mm_or_si128(less, ampersand));
    return lowest_bit(static_cast<unsigned>(_mm_movemask_epi8(any)) | 0x10000U);
#else
    unsigned run = 0;
    while (run < 16 && !is_special(p[run])) ++run;
    return run;
#endif
}

// Whether the bytes at p begin with the `size` bytes of a pattern that is padded to 32. 32 bytes at p must be readable.
inline bool begins_with(const std::uint8_t* p, const std::uint8_t* pattern, std::size_t size) {
#ifdef TERTULIA_SSE2
    const auto equal = [&](std::size_t at) {
        const __m128i left = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + at));
        const __m128i right = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pattern + at));
        return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(left, right)));
    };
    const unsigned first = equal(0);
    if (size <= 16) return lowest_bit(~first) >= size;
    return first == 0xFFFFU && lowest_bit(~equal(16)) >= size - 16;
#else
    return std::memcmp(p, pattern, size) == 0;
#endif
}

}  // namespace tertulia
