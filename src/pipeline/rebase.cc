// Attributes are stored by index in a schema; two packs may order or declare them differently.
#include "pipeline/rebase.h"

namespace tollgate::pipeline {

Event rebase_event(const Event& event, const Schema& from, const Schema& to) {
    Event moved = event;
    moved.attributes.assign(to.attributes.size(), std::nullopt);
    for (std::size_t i = 0; i < event.attributes.size() && i < from.attributes.size(); ++i) {
        const auto at = to.find(from.attributes[i].name);
        if (at && event.attributes[i] && to.attributes[*at].type == event.attributes[i]->type) {
            moved.attributes[*at] = event.attributes[i];
        }
    }
    return moved;
}

}  // namespace tollgate::pipeline
