// Lines of a table file to columns: one pass over the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "columns.hpp"

namespace tertulia {

// Columns of a row are told from each other by the bits of a word.
constexpr std::size_t kMostColumns = 64;

struct Problem {
    std::size_t line;        // from 0
    std::size_t start, end;  // of the line within the data, without its line end
};

struct Scan {
    // What is asked.
    std::vector<Column> columns;
    std::uint64_t required = 0;             // a bit for each column
    int keep = -1;                          // the column by which rows are kept, or none
    std::vector<std::int64_t> keep_values;  // sorted
    std::size_t most_problems = 0;

    // What was found.
    std::size_t kept = 0, lines = 0, rows = 0, left_out = 0, problem_count = 0;
    std::vector<Problem> problems;
};

// Reads data of less than 2 GiB: whole lines, the last with or without a line end.
void scan(const std::uint8_t* data, std::size_t size, Scan& result);

}  // namespace tertulia
