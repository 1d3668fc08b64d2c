#include "segment.hpp"

#include <algorithm>
#include <array>

namespace tertulia {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ (value >> 1) : value >> 1;
        table[byte] = value;
    }
    return table;
}

constexpr std::array<std::uint32_t, 256> kCrcTable = make_crc_table();

// The CRC-32 of zlib, with which the table of words was made.
std::uint32_t crc32(std::string_view bytes) {
    std::uint32_t value = 0xFFFFFFFFu;
    for (const char byte : bytes) value = kCrcTable[(value ^ static_cast<unsigned char>(byte)) & 255] ^ (value >> 8);
    return ~value;
}

}  // namespace

std::int64_t Segment::find(std::string_view word) const {
    std::uint32_t slot = crc32(word) & slot_mask;
    // A whole table has empty slots; the count ends the search in a damaged one.
    for (std::uint32_t tries = 0; tries <= slot_mask; ++tries, slot = (slot + 1) & slot_mask) {
        const std::uint32_t entry = word_slot[slot];
        if (entry == 0 || entry > words) return -1;
        const std::uint32_t start = word_offset[entry - 1], end = word_offset[entry];
        if (end - start == word.size() && std::memcmp(word_bytes + start, word.data(), word.size()) == 0) {
            const bool gone = std::binary_search(absent.begin(), absent.end(), entry - 1);
            return gone ? -1 : static_cast<std::int64_t>(entry - 1);
        }
    }
    return -1;
}

std::int64_t Segment::number_of(std::uint32_t row) const {
    const std::uint32_t* after = std::upper_bound(dialogue_row, dialogue_row + dialogues + 1, row);
    const std::ptrdiff_t dialogue = after - dialogue_row - 1;
    return dialogue_number[dialogue] + (row - dialogue_row[dialogue]);
}

}  // namespace tertulia
