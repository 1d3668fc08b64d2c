// Characters: what XML 1.0 allows, UTF-8, and references such as &lt; and &#xA;.
#pragma once

#include <cstdint>

namespace tertulia {

inline bool xml_allows(std::uint32_t point) {
    if (point < 0x20) return point == 0x9 || point == 0xA || point == 0xD;
    return point < 0xD800 || (point >= 0xE000 && point < 0xFFFE) || (point >= 0x10000 && point < 0x110000);
}

// The byte behind the character that begins at p with a byte from 0x80 on; null where it is no UTF-8 or forbidden by XML.
// No byte is read behind one that does not continue the character, so a line end stops it.
const std::uint8_t* after_character(const std::uint8_t* p);

// Writes the character that the reference at p (an &) stands for, moves `out` behind it, and gives the byte behind the
// reference; null where it is none. At most as many bytes are written as the reference has; up to four at a time.
const std::uint8_t* resolve_reference(const std::uint8_t* p, std::uint8_t*& out);

}  // namespace tertulia
