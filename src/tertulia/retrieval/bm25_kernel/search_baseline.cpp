// The search for any processor.
#include "search.hpp"

#define TERTULIA_VARIANT baseline
#include "search_variant.hpp"
