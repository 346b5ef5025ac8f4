#include "chaos/checkers/session_rows.h"

#include "chaos/checkers/row_lines.h"

namespace acl::chaos {
namespace {

using SqlKind = pg::Statement::Kind;

const RowLines kSessions{"agent_session",
                         {"agents.sessions", SqlKind::kRead, R"(
SELECT s.subject_id::text, l.name, l.status, coalesce(l.error_message, ''), h.head_seq::text, (e.session_id IS NOT NULL)::text,
       (EXISTS (SELECT 1 FROM ready r WHERE r.subject_id = s.subject_id))::text
FROM subjects s JOIN listings l USING (subject_id) JOIN subject_head h USING (subject_id) JOIN leases e USING (subject_id)
WHERE s.kind = 'agent' AND starts_with(l.name, $prefix::text) ORDER BY s.subject_id)"},
                         [](const pg::Rows& rows, int row) {
                           return Json{{"session", rows.Text(row, 0)},
                                       {"name", rows.Text(row, 1)},
                                       {"status", rows.Text(row, 2)},
                                       {"reason", rows.Text(row, 3)},
                                       {"head_seq", std::stoll(rows.Text(row, 4))},
                                       {"held", rows.Text(row, 5) == "true"},
                                       {"ready", rows.Text(row, 6) == "true"}};
                         }};

// What the checks need of an event's facts; what was read and written would make histories of gigabytes.
Json KeptOf(const Json& facts) {
  static const std::vector<std::string> kept = {"turn",    "stimuli", "number",   "action", "outcome", "code",     "capability", "step_id",
                                                "attempt", "what",    "outcomes", "error",  "reason",  "stimulus", "approval"};
  Json line = Json::object();
  for (const std::string& key : kept)
    if (const auto found = facts.find(key); found != facts.end()) line[key] = *found;
  if (const auto text = facts.find("text"); text != facts.end()) line["text"] = *text;
  if (const auto response = facts.find("response"); response != facts.end() && response->is_object())
    line["asked"] = response->value("actions", Json::array()).size();
  if (const auto message = facts.find("message"); message != facts.end() && message->is_object()) {  // of prepare: the first stimulus
    line["number"] = message->value("number", std::int64_t(0));
    line["text"] = message->value("text", "");
  }
  if (const auto inputs = facts.find("inputs"); inputs != facts.end() && inputs->is_object()) line["url"] = inputs->value("url", "");
  return line;
}

const RowLines kSessionEvents{"agent_event",
                              {"agents.events", SqlKind::kRead, R"(
SELECT s.subject_id::text, e.seq::text, e.type, ((extract(epoch FROM e.at) * 1000000)::bigint)::text,
       payload_text(e.payload, e.offloaded, e.content_hash)
FROM subjects s JOIN listings l USING (subject_id) JOIN event_rows e USING (subject_id)
WHERE s.kind = 'agent' AND starts_with(l.name, $prefix::text) ORDER BY s.subject_id, e.seq)"},
                              [](const pg::Rows& rows, int row) {
                                return Json{{"session", rows.Text(row, 0)},
                                            {"seq", std::stoll(rows.Text(row, 1))},
                                            {"event", rows.Text(row, 2)},
                                            {"at_us", std::stoll(rows.Text(row, 3))},
                                            {"facts", KeptOf(FactsIn(rows, row, 4))}};
                              }};

// Document 003's table, by its columns.
const RowLines kSessionMoves{"agent_move",
                             {"agents.moves", SqlKind::kRead, R"(
SELECT m.session::text, string_agg(m.event_seq || ' ' || m.type, ',' ORDER BY m.event_seq)
FROM move m JOIN listings l ON l.subject_id = m.session WHERE starts_with(l.name, $prefix::text) GROUP BY m.session ORDER BY m.session)"},
                             [](const pg::Rows& rows, int row) {
                               return Json{{"session", rows.Text(row, 0)}, {"moves", rows.Text(row, 1)}};
                             }};

const pg::Statement kBusySessions("agents.busy", SqlKind::kRead, R"(
SELECT count(*) FROM subjects s JOIN listings l USING (subject_id) JOIN leases e USING (subject_id)
WHERE s.kind = 'agent' AND starts_with(l.name, $prefix::text)
  AND (e.session_id IS NOT NULL OR EXISTS (SELECT 1 FROM ready r WHERE r.subject_id = s.subject_id)
       OR EXISTS (SELECT 1 FROM inbox i WHERE i.subject_id = s.subject_id)))");

}  // namespace

Result<std::vector<Json>> ReadSessionRows(const std::string& conninfo, const std::string& name_prefix) {
  return ReadRowLines(conninfo, name_prefix, {&kSessions, &kSessionEvents, &kSessionMoves});
}

Result<std::int64_t> CountBusySessions(const std::string& conninfo, const std::string& name_prefix) {
  return CountRows(conninfo, name_prefix, kBusySessions);
}

}  // namespace acl::chaos
