// The record of a compile input: what a ledger stores of an exchange, and from which its bundle is compiled again.
#include "shared/aegis/compile.h"
#include "shared/aegis/json_fields.h"

namespace acl::aegis {

namespace {

// Changed whenever the same input would give another bundle or prompt: a record says by which rules it was compiled.
constexpr std::string_view kCompilerVersion = "aegis-compile/1";

Json CandidateToJson(const ScreenedArtifact& candidate) {
  Json json = {{"artifact", ArtifactToJson(candidate.artifact)}};
  if (candidate.refused.empty()) return json;
  json["refused"] = candidate.refused;
  json["relevance"] = candidate.relevance;
  return json;
}

Result<ScreenedArtifact> CandidateFromJson(const Json& json) {
  JsonFields fields(json, "a recorded candidate");
  ScreenedArtifact candidate;
  const Json* artifact = fields.Need("artifact");
  candidate.refused = fields.TextOr("refused");
  if (!candidate.refused.empty()) candidate.relevance = fields.Integer("relevance");
  if (candidate.relevance < 0 || candidate.relevance > 1'000) fields.Fail("'relevance' is not 0 to 1000");
  if (!fields.status().ok()) return fields.status().error();
  auto read = ArtifactFromJson(*artifact);
  if (!read) return read.error();
  candidate.artifact = std::move(*read);
  return candidate;
}

constexpr std::int64_t kMostCounted = 1'000'000'000;  // so that no sum of a record overflows

// A map from texts to integers.
template <class Map>
void ReadCounts(JsonFields* fields, const char* key, Map* out) {
  const Json* json = fields->Need(key);
  if (!json) return;
  if (!json->is_object()) return fields->Fail(std::string("'") + key + "' is not an object");
  for (const auto& [name, count] : json->items()) {
    if (!count.is_number_integer() || count.template get<std::int64_t>() < 0 || count.template get<std::int64_t>() > kMostCounted)
      return fields->Fail(std::string("'") + key + "' holds what is no count");
    (*out)[name] = count.template get<std::int64_t>();
  }
}

template <class T>
Status ReadList(JsonFields* fields, const char* key, Result<T> (*read)(const Json&), std::vector<T>* out) {
  const Json* list = fields->Need(key);
  if (list && !list->is_array()) fields->Fail(std::string("'") + key + "' is not a list");
  if (!fields->status().ok()) return fields->status();
  for (const Json& item : *list) {
    auto one = read(item);
    if (!one) return one.error();
    out->push_back(std::move(*one));
  }
  return {};
}

template <class Map>
Json CountsToJson(const Map& counts) {
  Json json = Json::object();
  for (const auto& [name, count] : counts) json[name] = count;
  return json;
}

}  // namespace

Json CompileInputToJson(const CompileInput& input) {
  Json json = {{"version", kCompilerVersion},
               {"session_id", input.session_id},
               {"session_started_at", FormatWallTime(input.session_started_at)},
               {"compiled_at", FormatWallTime(input.compiled_at)},
               {"kernel", input.kernel.value},
               {"user_input", input.user_input},
               {"deep_history", input.deep_history},
               {"query", CountsToJson(input.found.query.weights)}};
  Json& candidates = json["candidates"] = Json::array();
  for (const ScreenedArtifact& candidate : input.found.candidates) candidates.push_back(CandidateToJson(candidate));
  json["refused_beyond"] = CountsToJson(input.found.refused_beyond);
  json["left_out"] = input.found.left_out;
  Json& tools = json["tools"] = Json::array();
  for (const ToolOutput& tool : input.tools) tools.push_back(ToolOutputToJson(tool));
  json["marker"] = input.marker;
  return json;
}

Result<CompileInput> CompileInputFromJson(const Json& json) {
  JsonFields fields(json, "a recorded compile input");
  CompileInput input;
  if (const std::string version = fields.Text("version"); fields.status().ok() && version != kCompilerVersion)
    return Error{Code::kInvalid, "the record was compiled by " + version.substr(0, 80) + ", this program is " +
                                     std::string(kCompilerVersion) + "; rebuild it with the program of that version"};
  input.session_id = fields.Text("session_id");
  input.session_started_at = fields.Time("session_started_at");
  input.compiled_at = fields.Time("compiled_at");
  input.user_input = fields.Text("user_input");
  input.deep_history = fields.BooleanOr("deep_history", false);
  ReadCounts(&fields, "query", &input.found.query.weights);
  ReadCounts(&fields, "refused_beyond", &input.found.refused_beyond);
  input.found.left_out = fields.Integer("left_out");
  if (input.found.left_out < 0 || input.found.left_out > kMostCounted) fields.Fail("'left_out' is no count");
  if (input.found.query.weights.size() > kQueryWords) fields.Fail("'query' has more words than a question may have");
  input.marker = fields.Text("marker");
  const Json* kernel = fields.Need("kernel");
  if (Status read = ReadList(&fields, "candidates", &CandidateFromJson, &input.found.candidates); !read.ok()) return read.error();
  if (Status read = ReadList(&fields, "tools", &ToolOutputFromJson, &input.tools); !read.ok()) return read.error();
  if (!fields.status().ok()) return fields.status().error();
  auto parsed = KernelFromValue(*kernel);
  if (!parsed) return parsed.error();
  input.kernel = std::move(*parsed);
  return input;
}

}  // namespace acl::aegis
