// The names of attributes that a scan has met, which columns they fill, and whether one stands twice in a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sixteen.hpp"

namespace tertulia {

inline bool starts_name(std::uint8_t byte) {
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '_';
}

inline bool continues_name(std::uint8_t byte) {
    return starts_name(byte) || (byte >= '0' && byte <= '9') || byte == '.' || byte == ':' || byte == '-';
}

struct Name {
    std::string text;
    std::uint8_t pattern[32] = {};  // the name and =", padded; only of names that fit
    std::size_t pattern_size = 0;   // 0 for longer names
    std::vector<std::size_t> columns;
    std::uint64_t last_row = 0;  // the last row it was met in
    std::size_t next = 0;        // the name that came after it last time
};

class Names {
  public:
    // The name of a column's attribute; one name may fill several columns.
    void want(const std::string& text, std::size_t column);

    void begin_row() {
        ++row_;
        previous_ = kNone;
        extras_.clear();
    }

    // Reads the name and the =" at p and gives the byte behind them, null where there are none or the name stood in this row
    // already. `columns` are those that it fills, null for none.
    const std::uint8_t* read(const std::uint8_t* p, const std::vector<std::size_t>*& columns) {
        // The names of a row come in the same order as in the row before, more or less.
        const std::size_t expected = previous_ == kNone ? first_ : names_[previous_].next;
        if (expected < names_.size()) {
            const Name& name = names_[expected];
            if (name.pattern_size != 0 && begins_with(p, name.pattern, name.pattern_size)) {
                p += name.pattern_size;
                return meet(expected, columns) ? p : nullptr;
            }
        }
        return read_unexpected(p, columns);
    }

    // Whether none of the names that are not kept stood twice in this row.
    bool end_row() { return extras_.empty() || extras_are_distinct(); }

  private:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    std::size_t add(std::string_view text);
    std::size_t find(std::string_view text) const;
    const std::uint8_t* read_unexpected(const std::uint8_t* p, const std::vector<std::size_t>*& columns);
    bool extras_are_distinct();

    bool meet(std::size_t index, const std::vector<std::size_t>*& columns) {
        Name& name = names_[index];
        if (name.last_row == row_) return false;
        name.last_row = row_;
        columns = name.columns.empty() ? nullptr : &name.columns;
        previous_ = index;
        return true;
    }

    std::vector<Name> names_;
    std::vector<std::string_view> extras_;  // of this row: names beyond those that are kept
    std::uint64_t row_ = 0;
    std::size_t first_ = 0, previous_ = kNone;
};

}  // namespace tertulia
