#pragma once
// What is fuzzed (./dev fuzz): each target takes any bytes, and aborts (ACL_CHECK) if what it found out about them does not hold. libFuzzer
// looks for such bytes; the replay tests run the bytes that are kept (tests/fuzz/corpus/NAME).

#include <string_view>
#include <vector>

namespace acl::fuzz {

struct Target {
  const char* name;
  void (*run)(std::string_view bytes);
};

const std::vector<Target>& Targets();

void FuzzJson(std::string_view bytes);      // what is taken can be stored, and comes back the same
void FuzzPatch(std::string_view bytes);     // document, newline, patch: on a whole value and on a Document it does the same
void FuzzCron(std::string_view bytes);      // fires after the moment asked about, on a time that fits
void FuzzWorkflow(std::string_view bytes);  // what is loaded comes back from its stored form
void FuzzTemplate(std::string_view bytes);  // pieces make up the text; expanding is bounded and needs nothing that References does not name
void FuzzExpression(std::string_view bytes);   // what parses has one form; evaluating asks for nothing that References does not name
void FuzzHttpHead(std::string_view bytes);     // what the gate takes is well formed in every part
void FuzzDoorbell(std::string_view bytes);     // frames one behind the other, as a connection reads them
void FuzzStepMessage(std::string_view bytes);  // what is read comes back the same
void FuzzEvent(std::string_view bytes);        // an event of any bytes is verified without harm
void FuzzRestore(std::string_view bytes);      // payloads, a line each, sealed into a journal and restored
void FuzzSnapshot(std::string_view bytes);     // an inline state or a chunk; what is decoded is encoded the same
void FuzzModelAnswer(std::string_view bytes);  // an answer is the same wherever its bytes are cut, a failure in words of ours

}  // namespace acl::fuzz
