// Integers and times as the dumps write them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tertulia {

// An optional minus and one to eighteen digits; false for anything else.
bool parse_integer(const std::uint8_t* text, std::size_t size, std::int64_t& value);

// YYYY-MM-DDTHH:MM:SS with up to six decimals, of a day that there is, from the year 1 on: milliseconds since 1970, what is
// finer cut off; false for anything else.
bool parse_time(const std::uint8_t* text, std::size_t size, std::int64_t& value);

}  // namespace tertulia
