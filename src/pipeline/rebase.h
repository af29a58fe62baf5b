// Moves an event from one pack's attribute schema to another's: by name and type; what the other
// does not know is left out.
#pragma once

#include "decision/event.h"
#include "decision/schema.h"

namespace tollgate::pipeline {

Event rebase_event(const Event& event, const Schema& from, const Schema& to);

}  // namespace tollgate::pipeline
