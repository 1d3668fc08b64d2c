// Whether a text has a link or an editing marker; the regular expressions that this follows stand in rows/plain.py.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.hpp"

namespace tertulia {

struct Flags {
    bool linked = false, marked = false;
};

// Of a plain text.
Flags flags_of_text(const std::uint8_t* text, std::size_t size);

// Of HTML: tags are taken out, into `scratch`, before bare URLs and markers are looked for.
Flags flags_of_html(const std::uint8_t* html, std::size_t size, Memory& scratch);

}  // namespace tertulia
