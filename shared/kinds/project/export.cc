#include "shared/kinds/project/export.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/sha256.h"
#include "shared/journal/snapshot.h"
#include "shared/kinds/project/check.h"

namespace acl::project {
namespace {

Error At(std::int64_t line, const std::string& what) { return {Code::kInvalid, fmt::format("line {}: {}", line, what)}; }

// The header without the hash of itself.
Json HeaderJson(const ExportHeader& header) {
  return {{"format", kExportFormat},
          {"version", kExportVersion},
          {"project_id", header.project.ToString()},
          {"name", header.name},
          {"head_seq", header.head_seq},
          {"chain_head", ToHex(header.chain_head)},
          {"state_root", ToHex(header.state_root)},
          {"schema", header.schema}};
}

// Members of a line, by type; nullptr, and `wrong` says why, if one is not as it should be.
class Members {
 public:
  Members(const Json& object, std::string& wrong) : object_(object), wrong_(wrong) {}

  std::string Text(const char* name) {
    const Json* found = Find(name);
    if (found != nullptr && found->is_string()) return found->get<std::string>();
    Wrong(name, "a text");
    return {};
  }
  std::int64_t Number(const char* name, std::int64_t least) {
    const Json* found = Find(name);
    if (found != nullptr && found->is_number_integer() && found->get<std::int64_t>() >= least) return found->get<std::int64_t>();
    Wrong(name, fmt::format("a whole number from {}", least));
    return least;
  }
  Hash256 Hash(const char* name) {
    const auto hash = HashFromHex(Text(name));
    if (!hash) Wrong(name, "64 hex digits");
    return hash.value_or(Hash256{});
  }

 private:
  const Json* Find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  void Wrong(const char* name, const std::string& expected) {
    if (wrong_.empty()) wrong_ = fmt::format("\"{}\" is to be {}", name, expected);
  }

  const Json& object_;
  std::string& wrong_;
};

class Reader {
 public:
  explicit Reader(std::string_view lines) : rest_(lines), all_(lines) {}

  Result<Exported> Run() {
    if (Status read = ReadHeader(); !read) return read.error();
    restored_.chain = ChainStart(SubjectId{exported_.header.project.uuid});
    while (!rest_.empty()) {
      if (Status read = ReadEvent(); !read) return read.error();
    }
    if (Status whole = CheckEnd(); !whole) return whole.error();
    exported_.state = std::move(restored_.state);
    exported_.digest = Sha256(all_);
    return std::move(exported_);
  }

 private:
  // The next line as JSON. It must have an end, else what follows may be missing.
  Result<Json> Next() {
    ++line_;
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return At(line_, "it has no end: the file is cut off, or empty");
    text_ = rest_.substr(0, end + 1);
    rest_.remove_prefix(end + 1);
    if (text_.size() > kMostExportLineBytes) return At(line_, fmt::format("it is longer than {} bytes", kMostExportLineBytes));
    auto json = ParseJson(text_.substr(0, end), {.max_bytes = kMostExportLineBytes, .max_depth = 4, .max_values = 100});
    if (!json) return At(line_, "not JSON: " + json.message());
    if (!json->is_object()) return At(line_, "not a JSON object");
    return json;
  }
  Status AsWritten(const std::string& written) const {
    if (written == text_) return {};
    return At(line_,
              "not in the form that exports are written in: a byte changed, or the file was rewritten; import it as it was exported");
  }

  Status ReadHeader() {
    auto json = Next();
    if (!json) return json.error();
    std::string wrong;
    Members members(*json, wrong);
    if (members.Text("format") != kExportFormat)
      return At(line_, fmt::format("no export of a project: \"format\" is to be \"{}\"", kExportFormat));
    if (const auto version = members.Number("version", 1); version != kExportVersion)
      return At(line_, fmt::format("version {} of the format; this program reads version {}", version, kExportVersion));
    ExportHeader& header = exported_.header;
    const auto project = ProjectId::Parse(members.Text("project_id"));
    if (!project) return At(line_, "\"project_id\" is to be an id");
    header.project = *project;
    header.name = members.Text("name");
    header.head_seq = members.Number("head_seq", 1);
    header.chain_head = members.Hash("chain_head");
    header.state_root = members.Hash("state_root");
    header.schema = int(std::min<std::int64_t>(members.Number("schema", 1), INT32_MAX));
    if (!wrong.empty()) return At(line_, wrong);
    if (header.schema > EventSchemaVersion())
      return At(line_, fmt::format("its events have schema {}; this program knows {}: import it with a newer one", header.schema,
                                   EventSchemaVersion()));
    return AsWritten(ExportLine(header));
  }

  Status ReadEvent() {
    auto json = Next();
    if (!json) return json.error();
    if (restored_.head_seq == exported_.header.head_seq)
      return At(line_, fmt::format("the header says that event {} is the last", exported_.header.head_seq));
    std::string wrong;
    Members members(*json, wrong);
    Event event;
    event.subject = SubjectId{exported_.header.project.uuid};
    event.seq = members.Number("seq", 1);
    event.type = members.Text("type");
    event.payload = members.Text("payload");
    event.checksum = members.Hash("checksum");
    event.content_hash = members.Hash("content_hash");
    event.chain = members.Hash("chain");
    event.token = Token{members.Number("token", 0)};
    const auto time = ParseWallTime(members.Text("timestamp"));
    event.schema_version = int(std::min<std::int64_t>(members.Number("schema_version", 1), INT32_MAX));
    event.producer_version = members.Text("producer_version");
    if (!wrong.empty()) return At(line_, wrong);
    if (!time) return At(line_, "\"timestamp\" is to be a time");
    event.timestamp = *time;
    if (event.type.empty() || event.type.size() > kEventTypeBytes || event.producer_version.size() > kProducerBytes)
      return At(line_, fmt::format("\"type\" has 1 to {} bytes, \"producer_version\" at most {}", kEventTypeBytes, kProducerBytes));
    if (event.schema_version > exported_.header.schema)
      return At(line_, fmt::format("schema {}, and the header says {} at most", event.schema_version, exported_.header.schema));
    if (!exported_.events.empty() && event.timestamp < exported_.events.back().timestamp)
      return At(line_, "its time is before that of the event before");
    if (Status form = AsWritten(ExportLine(event)); !form) return form;
    // One at a time, so that what is wrong is wrong here.
    std::vector<Event> one{std::move(event)};
    const auto no_chunks = [](const Hash256&) -> Result<std::string> { return Error{Code::kCorrupt, "an export has no contents apart"}; };
    if (Status replayed = GoOnRestoring(SubjectId{exported_.header.project.uuid}, one, no_chunks, restored_); !replayed)
      return At(line_, replayed.message());
    exported_.events.push_back(std::move(one.front()));
    return {};
  }

  Status CheckEnd() {
    const ExportHeader& header = exported_.header;
    if (restored_.head_seq != header.head_seq)
      return At(line_ + 1, fmt::format("the file ends, and the header says that event {} is the last: it is cut off", header.head_seq));
    if (restored_.chain != header.chain_head) return At(1, "\"chain_head\" is not the chain of the last event");
    if (restored_.state.Root() != header.state_root) return At(1, "\"state_root\" is not that of the state that the events make");
    if (Status sound = CheckState(restored_.state); !sound) return At(line_, "what the events make is no project: " + sound.message());
    return {};
  }

  std::string_view rest_, all_, text_;
  std::int64_t line_ = 0;
  Exported exported_;
  Restored restored_;
};

}  // namespace

std::string ExportLine(const ExportHeader& header) {
  Json json = HeaderJson(header);
  json["digest"] = ToHex(Sha256(DumpJson(json)));
  return DumpJson(json) + "\n";
}

std::string ExportLine(const Event& event) {
  return DumpJson({{"seq", event.seq},
                   {"type", event.type},
                   {"payload", *event.payload},
                   {"checksum", ToHex(event.checksum)},
                   {"content_hash", ToHex(event.content_hash)},
                   {"chain", ToHex(event.chain)},
                   {"token", event.token.value},
                   {"timestamp", FormatWallTime(event.timestamp)},
                   {"schema_version", event.schema_version},
                   {"producer_version", event.producer_version}}) +
         "\n";
}

Result<Exported> ReadExport(std::string_view lines) { return Reader(lines).Run(); }

Json ImportedFacts(const Exported& origin, const std::string& by) {
  const ExportHeader& header = origin.header;
  return {{"origin",
           {{"project_id", header.project.ToString()},
            {"name", header.name},
            {"head_seq", header.head_seq},
            {"chain_head", ToHex(header.chain_head)},
            {"state_root", ToHex(header.state_root)}}},
          {"export_digest", ToHex(origin.digest)},
          {"by", by}};
}

}  // namespace acl::project
