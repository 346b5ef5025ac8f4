// What needs the whole file: names, dependencies, cycles, capabilities. (What templates name: loader_references.cc.)
#include <unordered_map>

#include "shared/definition/draft.h"
#include "shared/definition/suggest.h"

namespace acl {

namespace {

void CheckDuplicateNames(Reader* reader, Draft* draft) {
  std::map<std::string_view, SourceMark> first;
  for (const DraftName& one : draft->names) {
    if (one.name.empty()) {
      draft->graph_ok = false;
      continue;
    }
    auto [it, fresh] = first.emplace(one.name, one.mark);
    if (fresh) continue;
    draft->graph_ok = false;
    reader->Error(
        one.mark, "duplicate-name",
        "two steps are named '" + one.name.substr(0, 80) + "' (the first in line " + std::to_string(it->second.line) + "); rename one");
  }
}

// One finding a cycle, at the dependency that closes it, with the way round. Iterative: a chain may be as long as the file.
void CheckCycles(Reader* reader, Draft* draft, const std::vector<std::vector<std::pair<int, SourceMark>>>& edges) {
  enum class Colour { kWhite, kGrey, kBlack };
  std::vector<Colour> colour(edges.size(), Colour::kWhite);
  struct Visit {
    int node;
    std::size_t next;
  };
  for (int start = 0; start < static_cast<int>(edges.size()); ++start) {
    if (colour[static_cast<std::size_t>(start)] != Colour::kWhite) continue;
    std::vector<Visit> path{{start, 0}};
    colour[static_cast<std::size_t>(start)] = Colour::kGrey;
    while (!path.empty()) {
      Visit& visit = path.back();
      const auto& out = edges[static_cast<std::size_t>(visit.node)];
      if (visit.next == out.size()) {
        colour[static_cast<std::size_t>(visit.node)] = Colour::kBlack;
        path.pop_back();
        continue;
      }
      auto [to, mark] = out[visit.next++];
      Colour& target = colour[static_cast<std::size_t>(to)];
      if (target == Colour::kWhite) {
        target = Colour::kGrey;
        path.push_back({to, 0});
      } else if (target == Colour::kGrey) {
        draft->graph_ok = false;
        auto from = std::find_if(path.begin(), path.end(), [to = to](const Visit& one) { return one.node == to; });
        std::string way;
        int shown = 0;
        for (auto it = from; it != path.end(); ++it)
          if (++shown <= 10) way += draft->names[static_cast<std::size_t>(it->node)].name + " -> ";
        if (shown > 10) way += "... -> ";
        reader->Error(mark, "dependency-cycle",
                      "these steps wait for each other: " + way + draft->names[static_cast<std::size_t>(to)].name +
                          "; remove one of the dependencies");
      }
    }
  }
}

// Keys of steps and compensations that decide whether, when or how often something is called.
constexpr std::string_view kOfTheStep[] = {"depends_on",      "compensation",         "max_retries",       "retry",
                                           "timeout_seconds", "step_timeout_seconds", "on_unknown_outcome"};

// What stands among the inputs and belongs beside them, and the other way round: nobody would look at it there.
void CheckPlaces(Reader* reader, const CapabilityDefinition& definition, const SourceNode& node, const std::string& owner) {
  const bool fresh = !reader->options().accepted_before;
  const auto of_step = [](std::string_view key) {
    return std::find(std::begin(kOfTheStep), std::end(kOfTheStep), key) != std::end(kOfTheStep);
  };
  const SourceEntry* inputs = node.Find("inputs");
  for (const SourceEntry& entry : inputs ? inputs->value.entries : std::vector<SourceEntry>()) {
    if (of_step(entry.key) && !HasParameter(definition, entry.key))
      reader->Strictly(fresh, entry.key_mark, "misplaced-key",
                       "'" + entry.key + "' stands in the inputs of " + owner + ", where nobody looks at it: write it beside 'inputs'");
  }
  for (const SourceEntry& entry : node.entries) {
    if (HasParameter(definition, entry.key) && !IsStepKey(entry.key))
      reader->Strictly(fresh, entry.key_mark, "misplaced-key",
                       "'" + entry.key + "' is a parameter of " + definition.id + " and stands beside the inputs of " + owner +
                           ", where nobody looks at it: write it into 'inputs'");
  }
}

void CheckCall(Reader* reader, const CapabilityRegistry& capabilities, const std::string& id, const Json& inputs, const SourceNode& node,
               const std::string& owner) {
  if (id.empty() || id == "human.approve") return;
  const SourceEntry* named = node.Find("capability") ? node.Find("capability") : node.Find("capability_name");
  const CapabilityDefinition* definition = capabilities.Find(id);
  if (!definition) {
    const std::string nearest = reader->MaySuggest() ? capabilities.Nearest(id) : "";
    reader->Strictly(reader->options().strict, named ? named->value.mark : node.mark, "unknown-capability",
                     "no capability is named '" + id.substr(0, 80) + "'; " + owner + " will fail when it runs" +
                         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    return;
  }
  const SourceEntry* given = node.Find("inputs");
  std::unordered_map<std::string_view, SourceMark> keys;
  if (given) {
    for (const SourceEntry& entry : given->value.entries) keys.emplace(entry.key, entry.key_mark);
  }
  // At the parameter itself, if the line names one that is there.
  auto place = [&](std::string_view line) {
    if (!given) return node.mark;
    for (auto from = line.find('\''); from != std::string_view::npos; from = line.find('\'', from + 1)) {
      const auto key = keys.find(line.substr(from + 1, line.find('\'', from + 1) - from - 1));
      if (key != keys.end()) return key->second;
    }
    return given->key_mark;
  };
  const SourceEntry* limit = node.Find("timeout_seconds");
  const auto own = inputs.find("timeout");
  if (limit && limit->value.scalar.is_number() && own != inputs.end() && own->is_number() && *own > limit->value.scalar)
    reader->Warning(place("'timeout'"), "timeout-order",
                    "'timeout' of " + owner + " is longer than its 'timeout_seconds', which ends the attempt first");
  const bool fresh = !reader->options().accepted_before;
  for (const std::string& line : CheckParameters(*definition, inputs, true))
    reader->Strictly(fresh, place(line), "bad-parameter", owner + ": " + line);
  for (const auto& [line, slip] : UnknownParameters(*definition, inputs))
    reader->Strictly(reader->options().strict || (slip && fresh), place(line), "unknown-parameter", owner + ": " + line);
  CheckPlaces(reader, *definition, node, owner);
}

void CheckCalls(Reader* reader, const CapabilityRegistry& capabilities, const SourceNode& list, const std::string& kind) {
  int index = 0;
  for (const SourceNode& node : list.items) {
    ++index;
    if (!node.is_map()) continue;
    auto text = [](const SourceNode& of, std::string_view key) {
      const SourceEntry* entry = of.Find(key);
      return entry && entry->value.is_string() ? entry->value.scalar.get<std::string>() : std::string();
    };
    auto call = [&](const SourceNode& of, const std::string& owner) {
      std::string id = text(of, "capability");
      const SourceEntry* inputs = of.Find("inputs");
      if (inputs && !inputs->value.is_map()) return;  // reported already
      CheckCall(reader, capabilities, id.empty() ? text(of, "capability_name") : id, inputs ? ToJson(inputs->value) : Json(Json::object()),
                of, owner);
    };
    std::string name = text(node, "name");
    std::string owner = kind + " " + (name.empty() ? std::to_string(index) : "'" + name.substr(0, 80) + "'");
    if (text(node, "step_type") != "HUMAN_APPROVAL") call(node, owner);
    if (const SourceEntry* compensation = node.Find("compensation"); compensation && compensation->value.is_map())
      call(compensation->value, "the compensation of " + owner);
    for (const ChildList& children : ChildListsOf(node))
      if (children.list->is_list()) CheckCalls(reader, capabilities, *children.list, kind);
  }
}

}  // namespace

void CheckGraph(Reader* reader, Draft* draft) {
  CheckDuplicateNames(reader, draft);
  std::map<std::string_view, int> index;
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < draft->names.size(); ++i) {
    index.emplace(draft->names[i].name, static_cast<int>(i));
    if (!draft->names[i].name.empty()) names.push_back(draft->names[i].name);
  }
  std::vector<std::vector<std::pair<int, SourceMark>>> edges(draft->names.size());
  for (const DraftDependency& one : draft->dependencies) {
    const std::string& from = draft->names[static_cast<std::size_t>(one.from)].name;
    auto it = index.find(one.on);
    if (it == index.end() || one.on.empty()) {
      draft->graph_ok = false;
      reader->Error(one.mark, "unknown-dependency",
                    "step '" + from.substr(0, 80) + "' depends on '" + one.on.substr(0, 80) + "', and no step has that name" +
                        reader->DidYouMean(one.on, names));
    } else if (it->second == one.from) {
      draft->graph_ok = false;
      reader->Error(one.mark, "self-dependency", "step '" + from.substr(0, 80) + "' depends on itself; remove it");
    } else {
      edges[static_cast<std::size_t>(one.from)].push_back({it->second, one.mark});
    }
  }
  CheckCycles(reader, draft, edges);
  CheckScopes(reader, draft);
}

void CheckCapabilities(Reader* reader, const SourceNode& root, const CapabilityRegistry& capabilities, const Draft&) {
  for (auto [key, kind] : {std::pair("steps", "step"), std::pair("global_compensation_steps", "global compensation")})
    if (const SourceEntry* list = root.Find(key); list && list->value.is_list()) CheckCalls(reader, capabilities, list->value, kind);
}

}  // namespace acl
