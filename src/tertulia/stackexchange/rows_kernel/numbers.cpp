#include "numbers.hpp"

namespace tertulia {

namespace {

// Reads `count` digits; `sound` becomes false where one is none.
int digits(const std::uint8_t* text, int count, bool& sound) {
    int number = 0;
    for (int i = 0; i < count; ++i) {
        const unsigned digit = text[i] - static_cast<unsigned>('0');
        sound &= digit < 10;
        number = number * 10 + static_cast<int>(digit);
    }
    return number;
}

int days_of(int year, int month) {
    constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

// Days from 1970-01-01 in the Gregorian calendar, for years from 1 on. The year is taken to begin in March, so that the day
// that only leap years have is its last.
std::int64_t days_since_epoch(int year, int month, int day) {
    const int y = month > 2 ? year : year - 1;
    const int m = month > 2 ? month - 3 : month + 9;
    const int era = y / 400, of_era = y % 400;
    const int of_year = (153 * m + 2) / 5 + day - 1;
    return std::int64_t{era} * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

}  // namespace

bool parse_integer(const std::uint8_t* text, std::size_t size, std::int64_t& value) {
    const bool negative = size > 0 && *text == '-';
    if (negative) {
        ++text;
        --size;
    }
    if (size < 1 || size > 18) return false;
    std::int64_t number = 0;
    bool sound = true;
    for (std::size_t i = 0; i < size; ++i) {
        const unsigned digit = text[i] - static_cast<unsigned>('0');
        sound &= digit < 10;
        number = number * 10 + (digit & 15);
    }
    value = negative ? -number : number;
    return sound;
}

bool parse_time(const std::uint8_t* text, std::size_t size, std::int64_t& value) {
    if (size < 19 || size > 26 || size == 20) return false;
    bool sound = text[4] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':' && text[16] == ':';
    const int year = digits(text, 4, sound), month = digits(text + 5, 2, sound), day = digits(text + 8, 2, sound);
    const int hour = digits(text + 11, 2, sound), minute = digits(text + 14, 2, sound), second = digits(text + 17, 2, sound);
    int milliseconds = 0;
    if (size > 20) {
        sound &= text[19] == '.';
        const int decimals = static_cast<int>(size) - 20;
        const int shown = decimals < 3 ? decimals : 3;
        milliseconds = digits(text + 20, shown, sound);
        for (int i = shown; i < 3; ++i) milliseconds *= 10;
        digits(text + 20 + shown, decimals - shown, sound);
    }
    if (!sound || year < 1 || month < 1 || month > 12 || day < 1 || day > days_of(year, month)) return false;
    if (hour > 23 || minute > 59 || second > 59) return false;
    value = ((days_since_epoch(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    value = value * 1000 + milliseconds;
    return true;
}

}  // namespace tertulia
