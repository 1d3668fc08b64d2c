// The search for any processor.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "search.hpp"

#define TERTULIA_VARIANT baseline
#include "bounds.hpp"
#include "search_variant.hpp"
