// The policy pack a command works with: a folder, or one of the embedded ones.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "decision/pack.h"

namespace tollgate::apps {

// `folder` empty: the embedded pack of that name. The error's message holds the pack's findings
// with file, line and caret.
Result<std::shared_ptr<const PolicyPack>> open_pack(const std::string& folder,
                                                    const std::string& embedded = "default");

}  // namespace tollgate::apps
