// What servers of language models say.
#include "shared/aegis/provider/protocol.h"
#include "shared/base/check.h"
#include "shared/base/utf8.h"
#include "tests/fuzz/targets/targets.h"

namespace acl::fuzz {

namespace {

using aegis::AnswerBytes;
using aegis::ModelFailure;
using aegis::ModelResult;

ModelResult ReadInPieces(const aegis::Protocol& protocol, bool stream, std::string_view bytes, std::size_t size, std::string* given) {
  AnswerBytes answer(protocol, stream, [&](std::string_view text) { given->append(text); });
  for (std::size_t i = 0; i < bytes.size(); i += size) {
    if (auto failed = answer.Take(bytes.substr(i, size))) return *std::move(failed);
  }
  return answer.Finish();
}

void CheckFailure(const ModelFailure& failure) {
  const std::string text = Describe(failure);
  ACL_CHECK(text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;_-/()?'`") == std::string::npos,
            "a failure is said in our own words");
}

}  // namespace

// The first byte: which protocol, whether streamed, and in pieces of what size the rest comes.
void FuzzModelAnswer(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto first = static_cast<unsigned char>(bytes.front());
  const auto& protocol = aegis::ProtocolOf(first % 2 == 0 ? aegis::ProviderKind::kOpenAi : aegis::ProviderKind::kAnthropic);
  const bool stream = first / 2 % 2 == 0;
  bytes.remove_prefix(1);
  std::string whole_text, pieces_text;
  const auto whole = ReadInPieces(protocol, stream, bytes, bytes.size() + 1, &whole_text);
  const auto pieces = ReadInPieces(protocol, stream, bytes, 1 + first / 4, &pieces_text);
  ACL_CHECK(whole.ok() == pieces.ok() && whole_text == pieces_text, "it is the same, wherever the bytes are cut");
  if (whole) {
    ACL_CHECK(whole->text == pieces->text && whole->tool_calls == pieces->tool_calls && whole->usage == pieces->usage,
              "it is the same answer, wherever the bytes are cut");
    ACL_CHECK(!stream || whole->text == whole_text, "what is given out is the answer's text");
    ACL_CHECK(IsUtf8(whole->text), "an answer can be stored");
  } else {
    ACL_CHECK(whole.failure().code == pieces.failure().code && whole.failure().ran == pieces.failure().ran, "it fails in the same way");
    CheckFailure(whole.failure());
  }
  CheckFailure(aegis::DecodeFailure(400 + first, {{"retry-after", std::string(bytes.substr(0, 40))}}, bytes, {}));
}

}  // namespace acl::fuzz
