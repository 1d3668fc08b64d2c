// The columns of a scanned table, in the layout of Arrow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memory.hpp"

namespace tertulia {

// The kinds of rows/schema.py, in that order.
enum class Kind { kInteger, kTime, kText, kLinkedHtml, kMarkedHtml, kLinkedText, kMarkedText };

constexpr int kKinds = 7;

struct Column {
    std::string attribute;
    Kind kind = Kind::kInteger;

    Memory values;    // 64-bit integers, the bytes of the texts, or bits
    Memory offsets;   // of texts: 32-bit, one more than there are rows
    Memory validity;  // of integers and texts: bits
    std::size_t nulls = 0;

    // Of the row that is being read. The bytes of a text stand behind the end of `values` already.
    std::int64_t number = 0;
    std::size_t text_size = 0;
    bool flag = false;

    // Makes the row part of the column. `row` counts the rows that were committed before.
    void commit(std::size_t row, bool present) {
        if (kind == Kind::kInteger || kind == Kind::kTime) {
            values.push<std::int64_t>(present ? number : 0);
        } else if (kind == Kind::kText) {
            if (present) values.advance(text_size);
            offsets.push<std::int32_t>(static_cast<std::int32_t>(values.size()));
        } else {
            values.push_bit(row, present && flag);
            return;  // a flag is never null
        }
        validity.push_bit(row, present);
        nulls += present ? 0 : 1;
    }
};

}  // namespace tertulia
