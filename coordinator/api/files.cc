#include "coordinator/api/files.h"

#include "coordinator/api/request.h"
#include "shared/capability/manifest.h"
#include "shared/http/url.h"

namespace acl::coordinator {

HttpResponse AnswerFiles(const Document& state) {
  auto manifest = ReadManifest(state);
  if (!manifest) return ProblemOf(manifest.error());
  Json files = Json::array();
  for (const auto& [path, entry] : *manifest) {
    Json file = {{"path", path}, {"mode", entry.mode}};
    if (entry.is_dir) {
      file["dir"] = true;
    } else {
      file["hash"] = ToHex(entry.hash);
      file["size"] = entry.size;
    }
    files.push_back(std::move(file));
  }
  return HttpResponse::OfJson(200, {{"files", std::move(files)}});
}

HttpResponse AnswerFile(const ApiContext& api, const HttpRequest& request, const Document& state) {
  auto path = NormalisePath(request.Param("path"));
  if (!path) return Problem(400, "bad-path", path.message());
  auto entry = FindFile(state, *path);
  if (!entry) return ProblemOf(entry.error());
  if (!*entry) return Problem(404, "no-such-file", "there is no file '" + *path + "'");
  if ((*entry)->is_dir) return Problem(409, "is-a-directory", "'" + *path + "' is a directory");
  const auto etag = "\"" + ToHex((*entry)->hash) + "\"";
  const auto* known = request.Header("if-none-match");
  if (known != nullptr && *known == etag) return HttpResponse::Empty(304).With("ETag", etag);
  auto content = api.store.GetContent((*entry)->hash);
  if (!content) return ProblemOf(content.error());
  auto response = HttpResponse::OfText(200, std::move(*content), "application/octet-stream");
  return response.With("ETag", etag).With("Content-Disposition", "attachment; filename*=UTF-8''" + PercentEncode(BaseName(*path)));
}

}  // namespace acl::coordinator
