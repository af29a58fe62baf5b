// Masking of card numbers in free text, before it reaches a prompt, a log, a cache or the console.
#pragma once

#include <string>

namespace tollgate {

// Replaces by '*' all but the last four digits of every run of 13 to 19 ASCII digits that passes
// the Luhn check (ISO/IEC 7812-1). One space or one hyphen may stand between two digits and stays.
// A run is made of whole groups: it begins and ends where no further digit adjoins, but other
// groups may stand beside it ("12 4111 1111 1111 1111" hides its last four groups). Afterwards
// no such run is left. The size of the text does not change; nothing is allocated. Returns whether
// something was masked.
bool mask_card_numbers(std::string& text);

}  // namespace tollgate
