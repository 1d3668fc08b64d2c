// The value of an attribute: checked and, where it is wanted, resolved.
#pragma once

#include <cstdint>
#include <cstring>

#include "characters.hpp"
#include "sixteen.hpp"

namespace tertulia {

// Walks from the first byte of a value to the quotation mark behind it, and gives that; null where the value is not well
// formed. With kWrite its text goes to `out`, which is moved behind it: references become characters, raw tabs spaces; the
// text is never longer than the value. What is written behind the text (up to sixteen bytes) means nothing.
// The line ends with a line break and sixteen readable bytes, which is where a value without an end is found out.
template <bool kWrite>
inline const std::uint8_t* walk_value(const std::uint8_t* p, std::uint8_t*& out) {
    std::uint8_t ignored[8];
    for (;;) {
        if (kWrite) std::memcpy(out, p, 16);
        const unsigned run = plain_run(p);
        p += run;
        if (kWrite) out += run;
        if (run == 16) continue;
        std::uint8_t byte = *p;
        if (byte == '"') return p;
        if (byte == '&') {
            std::uint8_t* place = ignored;
            p = resolve_reference(p, kWrite ? out : place);
            if (p == nullptr) return nullptr;
        } else if (byte >= 0x80) {
            // Where there is one there are mostly more.
            do {
                const std::uint8_t* next = after_character(p);
                if (next == nullptr) return nullptr;
                if (kWrite) {
                    std::memcpy(out, p, 4);
                    out += next - p;
                }
                p = next;
                byte = *p;
            } while (byte >= 0x80);
        } else if (byte == '\t') {
            if (kWrite) *out++ = ' ';
            ++p;
        } else {
            return nullptr;
        }
    }
}

}  // namespace tertulia
