#pragma once
// A project's history as lines of JSON, kept as a file and made a project again elsewhere (docs/reference/api.md, "Export and import").
//
//   line 1      {"format":"acl.project","version":1,"project_id","name","head_seq","chain_head","state_root","schema","digest"}
//   line 1 + n  event n: {"seq","type","payload","checksum","content_hash","chain","token","timestamp","schema_version",
//               "producer_version"}; `payload` is the stored text, as a string
//
// Members stand in this order and in the form that is written here, so that a line says one thing in one way: any byte that changes is
// found in its line. The chain begins with the project's id and covers every member of every event, `digest` covers the header. That proves
// a file whole; who wrote it, it does not prove.

#include <string>
#include <string_view>
#include <vector>

#include "shared/journal/document.h"
#include "shared/journal/event.h"

namespace acl::project {

inline constexpr std::string_view kExportFormat = "acl.project";
inline constexpr int kExportVersion = 1;
inline constexpr std::size_t kMostExportLineBytes = 8u << 20;

struct ExportHeader {
  ProjectId project;
  std::string name;
  std::int64_t head_seq = 0;
  Hash256 chain_head{}, state_root{};
  int schema = EventSchemaVersion();  // the newest that an event has
};

// Both with the line's end. The event has its payload.
std::string ExportLine(const ExportHeader& header);
std::string ExportLine(const Event& event);

// A history that was read and replayed.
struct Exported {
  ExportHeader header;
  Hash256 digest{};           // SHA-256 of the lines
  std::vector<Event> events;  // as they were: subject, tokens and chain are the origin's
  Document state;             // after the last
};
// kInvalid, with the line and what was expected there: the form of a line, checksums, chain, the state after each event, what holds between
// the entries of a project (check.h), and what the header says of all of it. Pure.
Result<Exported> ReadExport(std::string_view lines);

// What the first event of an imported project says of where it comes from. It changes no state: the next events are those of the origin,
// with their payloads, so that the same work has the same digest.
inline constexpr std::string_view kImported = "project.imported";
// What `journal.rolled` of the origin is called here: the origin's journals are not those of the project that was made of them.
inline constexpr std::string_view kOriginRolled = "origin.journal_rolled";
Json ImportedFacts(const Exported& origin, const std::string& by);

}  // namespace acl::project
