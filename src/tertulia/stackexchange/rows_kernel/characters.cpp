#include "characters.hpp"

namespace tertulia {

namespace {

bool continues(std::uint8_t byte) { return (byte & 0xC0) == 0x80; }

void write_character(std::uint32_t point, std::uint8_t*& out) {
    const auto byte = [&](std::uint32_t value) { *out++ = static_cast<std::uint8_t>(value); };
    const auto following = [&](unsigned shift) { byte(0x80 | ((point >> shift) & 0x3F)); };
    if (point < 0x80) {
        byte(point);
    } else if (point < 0x800) {
        byte(0xC0 | (point >> 6));
        following(0);
    } else if (point < 0x10000) {
        byte(0xE0 | (point >> 12));
        following(6);
        following(0);
    } else {
        byte(0xF0 | (point >> 18));
        following(12);
        following(6);
        following(0);
    }
}

int digit_of(std::uint8_t byte, int base) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (base == 16 && byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (base == 16 && byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

// p is behind the &#.
const std::uint8_t* resolve_number(const std::uint8_t* p, std::uint8_t*& out) {
    int base = 10;
    if (*p == 'x') {
        base = 16;
        ++p;
    }
    if (digit_of(*p, base) < 0) return nullptr;
    std::uint32_t point = 0;
    for (int digit = digit_of(*p, base); digit >= 0; digit = digit_of(*++p, base)) {
        // Any number of zeros may stand in front, so it is the number that ends it, not the digits.
        point = point * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
        if (point > 0x10FFFF) return nullptr;
    }
    if (*p != ';' || !xml_allows(point)) return nullptr;
    write_character(point, out);
    return p + 1;
}

}  // namespace

const std::uint8_t* after_character(const std::uint8_t* p) {
    const std::uint8_t first = p[0];
    if (first < 0xC2) return nullptr;  // a continuation, or an overlong form of ASCII
    if (!continues(p[1])) return nullptr;
    if (first < 0xE0) return p + 2;
    if (!continues(p[2])) return nullptr;
    if (first < 0xF0) {
        if (first == 0xE0 && p[1] < 0xA0) return nullptr;                                   // overlong
        if (first == 0xED && p[1] >= 0xA0) return nullptr;                                  // surrogates
        if (first == 0xEF && p[1] == 0xBF && p[2] >= 0xBE) return nullptr;                  // U+FFFE, U+FFFF
        return p + 3;
    }
    if (first > 0xF4 || !continues(p[3])) return nullptr;
    if (first == 0xF0 && p[1] < 0x90) return nullptr;   // overlong
    if (first == 0xF4 && p[1] >= 0x90) return nullptr;  // behind U+10FFFF
    return p + 4;
}

const std::uint8_t* resolve_reference(const std::uint8_t* p, std::uint8_t*& out) {
    switch (p[1]) {
        case 'l':
            if (p[2] != 't' || p[3] != ';') return nullptr;
            *out++ = '<';
            return p + 4;
        case 'g':
            if (p[2] != 't' || p[3] != ';') return nullptr;
            *out++ = '>';
            return p + 4;
        case 'q':
            if (p[2] != 'u' || p[3] != 'o' || p[4] != 't' || p[5] != ';') return nullptr;
            *out++ = '"';
            return p + 6;
        case 'a':
            if (p[2] == 'm' && p[3] == 'p' && p[4] == ';') {
                *out++ = '&';
                return p + 5;
            }
            if (p[2] != 'p' || p[3] != 'o' || p[4] != 's' || p[5] != ';') return nullptr;
            *out++ = '\'';
            return p + 6;
        case '#':
            if (p[2] == 'x' && (p[3] == 'A' || p[3] == 'D') && p[4] == ';') {
                *out++ = p[3] == 'A' ? '\n' : '\r';
                return p + 5;
            }
            return resolve_number(p + 2, out);
        default:
            return nullptr;
    }
}

}  // namespace tertulia
