#include "flags.hpp"

#include <cstring>

namespace tertulia {

namespace {

using Byte = std::uint8_t;

const Byte* find(const Byte* from, const Byte* end, int byte) {
    return static_cast<const Byte*>(std::memchr(from, byte, static_cast<std::size_t>(end - from)));
}

Byte lower(Byte byte) { return byte >= 'A' && byte <= 'Z' ? static_cast<Byte>(byte + 32) : byte; }
bool is_digit(Byte byte) { return byte >= '0' && byte <= '9'; }
bool is_letter(Byte byte) { return lower(byte) >= 'a' && lower(byte) <= 'z'; }
bool is_space(Byte byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

// Whether the `size` lower-case letters of a word end just before `end`.
bool word_ends(const Byte* begin, const Byte* end, const char* word, std::size_t size) {
    if (static_cast<std::size_t>(end - begin) < size) return false;
    for (std::size_t i = 0; i < size; ++i) {
        if (lower(end[static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(size)]) != static_cast<Byte>(word[i])) return false;
    }
    return true;
}

// https?://[0-9a-z\[] around this colon.
bool is_url(const Byte* begin, const Byte* end, const Byte* colon) {
    if (end - colon < 4 || colon[1] != '/' || colon[2] != '/') return false;
    if (!is_digit(colon[3]) && !is_letter(colon[3]) && colon[3] != '[') return false;
    return word_ends(begin, colon, "http", 4) || word_ends(begin, colon, "https", 5);
}

// (?<![0-9A-Za-z_])(?:edit|edited|deprecated)[ 0-9]{0,8}: with this colon.
bool is_marker(const Byte* begin, const Byte* colon) {
    const Byte* end = colon;
    while (end > begin && colon - end < 8 && (end[-1] == ' ' || is_digit(end[-1]))) --end;
    // The words end in letters, so it is only where the spaces and digits begin that one can end.
    std::size_t size = 0;
    if (word_ends(begin, end, "edit", 4)) {
        size = 4;
    } else if (word_ends(begin, end, "edited", 6)) {
        size = 6;
    } else if (word_ends(begin, end, "deprecated", 10)) {
        size = 10;
    } else {
        return false;
    }
    const Byte* start = end - size;
    return start == begin || !(is_digit(start[-1]) || is_letter(start[-1]) || start[-1] == '_');
}

void look_at_colons(const Byte* begin, const Byte* end, Flags& flags) {
    for (const Byte* colon = begin; colon < end && (colon = find(colon, end, ':')) != nullptr; ++colon) {
        if (!flags.linked) flags.linked = is_url(begin, end, colon);
        if (!flags.marked) flags.marked = is_marker(begin, colon);
        if (flags.linked && flags.marked) return;
    }
}

// <a\s[^>]*href\s*=\s*["'][^"'\s] at the start of a tag that ends before `end`.
bool is_anchor(const Byte* tag, const Byte* end) {
    if (end - tag < 10 || lower(tag[1]) != 'a' || !is_space(tag[2])) return false;
    for (const Byte* p = tag + 3; end - p >= 7; ++p) {
        if (lower(p[0]) != 'h' || lower(p[1]) != 'r' || lower(p[2]) != 'e' || lower(p[3]) != 'f') continue;
        const Byte* q = p + 4;
        while (q < end && is_space(*q)) ++q;
        if (q == end || *q != '=') continue;
        ++q;
        while (q < end && is_space(*q)) ++q;
        if (end - q < 2 || (*q != '"' && *q != '\'')) continue;
        if (q[1] != '"' && q[1] != '\'' && !is_space(q[1])) return true;
    }
    return false;
}

// Whether the < at p begins a tag, if a > follows: within a tag, the bracket before it is a < too.
bool is_outside(const Byte* begin, const Byte* p) {
    while (p > begin) {
        --p;
        if (*p == '<' || *p == '>') return *p == '>';
    }
    return true;
}

bool has_anchor(const Byte* begin, const Byte* end) {
    for (const Byte* p = begin; p < end && (p = find(p, end, '<')) != nullptr; ++p) {
        if (end - p < 10 || lower(p[1]) != 'a' || !is_space(p[2]) || !is_outside(begin, p)) continue;
        const Byte* close = find(p, end, '>');
        if (close == nullptr) return false;  // a < that no > follows is no tag
        if (is_anchor(p, close + 1)) return true;
        p = close;
    }
    return false;
}

// Whether a colon may be that of a marker or, where one is looked for, of a URL, once tags are taken out: beside it stands what
// must stand there, or a bracket of a tag. Most texts have no such colon, and need not be copied without their tags.
bool may_have_flags(const Byte* begin, const Byte* end, bool url) {
    for (const Byte* p = begin; p < end && (p = find(p, end, ':')) != nullptr; ++p) {
        const Byte before = p == begin ? 0 : lower(p[-1]);
        const Byte after = p + 1 == end ? 0 : p[1];
        if (before == 't' || before == 'd' || before == ' ' || before == '>' || is_digit(before)) return true;
        if (url && (before == 'p' || before == 's') && (after == '/' || after == '<')) return true;
    }
    return false;
}

// Copies a text without its tags, and gives the end of the copy.
Byte* copy_without_tags(const Byte* rest, const Byte* end, Byte* out) {
    while (rest < end) {
        const Byte* tag = find(rest, end, '<');
        const Byte* close = tag == nullptr ? nullptr : find(tag, end, '>');
        if (close == nullptr) break;
        std::memcpy(out, rest, static_cast<std::size_t>(tag - rest));
        out += tag - rest;
        rest = close + 1;
    }
    std::memcpy(out, rest, static_cast<std::size_t>(end - rest));
    return out + (end - rest);
}

}  // namespace

Flags flags_of_text(const std::uint8_t* text, std::size_t size) {
    Flags flags;
    look_at_colons(text, text + size, flags);
    return flags;
}

Flags flags_of_html(const std::uint8_t* html, std::size_t size, Memory& scratch) {
    Flags flags;
    flags.linked = has_anchor(html, html + size);
    if (may_have_flags(html, html + size, !flags.linked)) {
        scratch.reserve(size);
        const Byte* end = copy_without_tags(html, html + size, scratch.data());
        look_at_colons(scratch.data(), end, flags);
    }
    return flags;
}

}  // namespace tertulia
