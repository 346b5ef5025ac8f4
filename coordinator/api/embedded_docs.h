#pragma once
// Documents of docs/ that the API serves, as part of the binary (cmake/embed_docs.cmake makes the source).

#include <string_view>

namespace acl::coordinator {

extern const std::string_view kOpenApiJson;         // docs/reference/openapi.json
extern const std::string_view kWorkflowSchemaJson;  // docs/reference/workflow.schema.json

}  // namespace acl::coordinator
