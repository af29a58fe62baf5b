// The filters that go through lists and dicts, and what filters share.
#pragma once

#include <cstdint>

#include "text/template_builtins.h"

namespace tollgate::jinja {

// The items of what can be iterated; a text's are its characters, a map's its keys.
Result<TemplateValue::List> items_of(const TemplateValue& value, Budget& budget);
std::int64_t integer_or(const TemplateValue* value, std::int64_t otherwise);
bool flag_or(const TemplateValue* value, bool otherwise);

Result<TemplateValue> f_batch(const Args& args, Budget& budget);
Result<TemplateValue> f_dictsort(const Args& args, Budget& budget);
Result<TemplateValue> f_first(const Args& args, Budget& budget);
Result<TemplateValue> f_items(const Args& args, Budget& budget);
Result<TemplateValue> f_join(const Args& args, Budget& budget);
Result<TemplateValue> f_last(const Args& args, Budget& budget);
Result<TemplateValue> f_list(const Args& args, Budget& budget);
Result<TemplateValue> f_max(const Args& args, Budget& budget);
Result<TemplateValue> f_min(const Args& args, Budget& budget);
Result<TemplateValue> f_reverse(const Args& args, Budget& budget);
Result<TemplateValue> f_sort(const Args& args, Budget& budget);
Result<TemplateValue> f_sum(const Args& args, Budget& budget);
Result<TemplateValue> f_unique(const Args& args, Budget& budget);

}  // namespace tollgate::jinja
