#include "scan.hpp"

#include <algorithm>
#include <cstring>

#include "flags.hpp"
#include "names.hpp"
#include "numbers.hpp"
#include "value.hpp"

namespace tertulia {

namespace {

using Byte = std::uint8_t;

// So many bytes behind a line's end may be read (never looked at), so that there is no test for the end of the data.
constexpr std::size_t kReadable = 64;

enum class Row { kBlank, kMalformed, kLeftOut, kKept };

const Byte* skip_blanks(const Byte* p) {
    while (*p == ' ' || *p == '\t') ++p;
    return p;
}

class Scanner {
  public:
    explicit Scanner(Scan& result) : scan_(result) {
        for (std::size_t i = 0; i < scan_.columns.size(); ++i) {
            Column& column = scan_.columns[i];
            names_.want(column.attribute, i);
            column.values.reserve(0);
            column.validity.reserve(0);
            if (column.kind == Kind::kText) column.offsets.push<std::int32_t>(0);
        }
    }

    // Reads lines, each with its line break; behind the last one kReadable bytes can be read. `offset` is where they stand
    // in the data.
    void read(const Byte* begin, const Byte* end, std::size_t offset) {
        const Byte* line = begin;
        while (line < end) {
            const Byte* stop = static_cast<const Byte*>(std::memchr(line, '\n', static_cast<std::size_t>(end - line)));
            switch (read_line(line, stop)) {
                case Row::kBlank:
                    break;
                case Row::kMalformed:
                    note_problem(offset + static_cast<std::size_t>(line - begin), offset + static_cast<std::size_t>(stop - begin));
                    break;
                case Row::kLeftOut:
                    ++scan_.rows;
                    ++scan_.left_out;
                    break;
                case Row::kKept:
                    commit();
                    ++scan_.rows;
            }
            ++scan_.lines;
            line = stop + 1;
        }
    }

  private:
    Row read_line(const Byte* p, const Byte* stop) {
        p = skip_blanks(p);
        if (p == stop || (*p == '\r' && p + 1 == stop)) return Row::kBlank;
        if (std::memcmp(p, "<row", 4) != 0) return Row::kMalformed;
        p += 4;
        names_.begin_row();
        present_ = 0;
        for (;;) {
            const Byte* next = skip_blanks(p);
            if (*next == '/') {
                p = next;
                break;
            }
            if (next == p) return Row::kMalformed;
            const std::vector<std::size_t>* columns = nullptr;
            p = names_.read(next, columns);
            if (p == nullptr) return Row::kMalformed;
            p = columns == nullptr ? skip_value(p) : read_value(p, stop, *columns);
            if (p == nullptr) return Row::kMalformed;
            ++p;  // the quotation mark
        }
        if (p[1] != '>') return Row::kMalformed;
        p = skip_blanks(p + 2);
        if (*p == '\r') ++p;
        if (p != stop || !names_.end_row() || (present_ & scan_.required) != scan_.required) return Row::kMalformed;
        return is_kept() ? Row::kKept : Row::kLeftOut;
    }

    bool is_kept() const {
        if (scan_.keep < 0) return true;
        const auto column = static_cast<std::size_t>(scan_.keep);
        return (present_ >> column & 1) != 0 &&
               std::binary_search(scan_.keep_values.begin(), scan_.keep_values.end(), scan_.columns[column].number);
    }

    static const Byte* skip_value(const Byte* p) {
        Byte* nowhere = nullptr;
        return walk_value<false>(p, nowhere);
    }

    const Byte* read_value(const Byte* p, const Byte* stop, const std::vector<std::size_t>& indices) {
        Column& first = scan_.columns[indices[0]];
        if (first.kind == Kind::kInteger || first.kind == Kind::kTime) {
            // Sixteen bytes hold most numbers, and none of theirs is special.
            const unsigned run = plain_run(p);
            if (run < 16 && p[run] == '"') return convert_all(indices, p, run) ? p + run : nullptr;
        }
        // A text is written where it will stay, for the others to read; what is not a text is written beside.
        Memory& home = first.kind == Kind::kText ? first.values : resolved_;
        home.reserve(static_cast<std::size_t>(stop - p));
        Byte* const text = home.end();
        Byte* out = text;
        p = walk_value<true>(p, out);
        if (p == nullptr || !convert_all(indices, text, static_cast<std::size_t>(out - text))) return nullptr;
        return p;
    }

    bool convert_all(const std::vector<std::size_t>& indices, const Byte* text, std::size_t size) {
        bool of_text = false, of_html = false;  // whether the flags were told already
        Flags flags;
        for (const std::size_t index : indices) {
            Column& column = scan_.columns[index];
            present_ |= std::uint64_t{1} << index;
            switch (column.kind) {
                case Kind::kInteger:
                    if (!parse_integer(text, size, column.number)) return false;
                    break;
                case Kind::kTime:
                    if (!parse_time(text, size, column.number)) return false;
                    break;
                case Kind::kText:
                    column.text_size = size;
                    if (column.values.end() != text) {
                        column.values.reserve(size);
                        std::memcpy(column.values.end(), text, size);
                    }
                    break;
                case Kind::kLinkedHtml:
                case Kind::kMarkedHtml:
                    if (!of_html) flags = flags_of_html(text, size, untagged_);
                    of_html = true;
                    of_text = false;
                    column.flag = column.kind == Kind::kLinkedHtml ? flags.linked : flags.marked;
                    break;
                case Kind::kLinkedText:
                case Kind::kMarkedText:
                    if (!of_text) flags = flags_of_text(text, size);
                    of_text = true;
                    of_html = false;
                    column.flag = column.kind == Kind::kLinkedText ? flags.linked : flags.marked;
                    break;
            }
        }
        return true;
    }

    void commit() {
        for (std::size_t i = 0; i < scan_.columns.size(); ++i) scan_.columns[i].commit(scan_.kept, (present_ >> i & 1) != 0);
        ++scan_.kept;
    }

    void note_problem(std::size_t start, std::size_t end) {
        if (scan_.problem_count++ < scan_.most_problems) scan_.problems.push_back({scan_.lines, start, end});
    }

    Scan& scan_;
    Names names_;
    Memory resolved_, untagged_;
    std::uint64_t present_ = 0;  // a bit for each column that the row has
};

}  // namespace

void scan(const std::uint8_t* data, std::size_t size, Scan& result) {
    Scanner scanner(result);
    // Lines that end so near to the end of the data that reading on would leave it are read from a copy with room behind.
    std::size_t head = size > kReadable ? size - kReadable : 0;
    while (head > 0 && data[head - 1] != '\n') --head;
    scanner.read(data, data + head, 0);
    std::vector<std::uint8_t> tail(data + head, data + size);
    if (!tail.empty() && tail.back() != '\n') tail.push_back('\n');
    const std::size_t length = tail.size();
    tail.resize(length + kReadable);
    scanner.read(tail.data(), tail.data() + length, head);
}

}  // namespace tertulia
