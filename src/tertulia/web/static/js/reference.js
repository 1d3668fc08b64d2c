// The reference of the API, from its OpenAPI document.

import { byId, h } from "./dom.js";

const main = byId("reference");

function show(api) {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );
  const tags = api.tags.map((tag) => ({ ...tag, operations: operations.filter((entry) => entry.tags.includes(tag.name)) }));
  main.append(
    h("h1", { text: `The API of ${api.info.title}` }),
    h("p", { class: "version", text: `Version ${api.info.version}` }),
    ...api.info.description.split("\n\n").map((text) => h("p", { text })),
    h(
      "nav",
      { "aria-label": "Operations" },
      h(
        "ul",
        { class: "contents" },
        ...operations.map((entry) =>
          h("li", {}, h("a", { href: `#${entry.operationId}` }, h("b", { text: entry.method }), ` ${entry.path}`)),
        ),
      ),
    ),
    ...tags.flatMap((tag) => [
      h("h2", { text: titled(tag.name) }),
      h("p", { text: tag.description }),
      ...tag.operations.map((entry) => operationSection(entry, api)),
    ]),
  );
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

const titled = (word) => word.charAt(0).toUpperCase() + word.slice(1);

function operationSection(operation, api) {
  const body = operation.requestBody?.content["application/json"].schema;
  return h(
    "section",
    { class: "operation", id: operation.operationId },
    h("h3", { text: operation.summary }),
    h("p", { class: "line" }, h("b", { text: operation.method }), " ", h("code", { text: operation.path })),
    h("p", { text: operation.description ?? "" }),
    operation.parameters ? h("h4", { text: "In the path" }) : null,
    operation.parameters ? fieldList(operation.parameters.map((entry) => [entry.name, entry.schema, entry.description, true]), api) : null,
    body ? h("h4", { text: "Body" }) : null,
    body ? modelFields(body, api) : null,
    h("h4", { text: "Example" }),
    h("pre", { tabindex: "0" }, h("code", { text: curl(operation, body, api) })),
    h("h4", { text: "Answers" }),
    ...Object.entries(operation.responses).map(([status, answer]) => answerDetails(status, answer, api)),
  );
}

function answerDetails(status, answer, api) {
  const schema = answer.content?.["application/json"].schema;
  const model = schema ? resolve(schema, api) : null;
  const words = answer.description === "Successful Response" ? (model?.description ?? "Done.") : answer.description;
  const line = [h("b", { text: status }), ` ${words}`];
  if (Number(status) >= 400 || !schema) return h("p", { class: "answer" }, ...line);
  return h("details", { class: "answer" }, h("summary", {}, ...line), modelFields(schema, api));
}

function modelFields(schema, api) {
  const model = resolve(schema, api);
  const required = new Set(model.required ?? []);
  const rows = Object.entries(model.properties ?? {}).map(([name, field]) => [name, field, field.description, required.has(name)]);
  return fieldList(rows, api);
}

function fieldList(rows, api) {
  return h(
    "dl",
    { class: "fields" },
    ...rows.flatMap(([name, schema, description, isRequired]) => [
      h("dt", {}, h("code", { text: name }), isRequired ? null : h("span", { class: "optional", text: " optional" })),
      h("dd", {}, h("span", { class: "type", text: typeName(schema, api) }), description ? ` ${description}` : null, inner(schema, api)),
    ]),
  );
}

/** The models that a field is made of, each to be opened. */
function inner(schema, api) {
  return models(schema).map((reference) =>
    h("details", {}, h("summary", { text: name(reference) }), modelFields({ $ref: reference }, api)),
  );
}

function models(schema) {
  if (schema.$ref) return [schema.$ref];
  return [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.items ? [schema.items] : [])].flatMap(models);
}

const name = (reference) => reference.split("/").at(-1);
const resolve = (schema, api) => (schema.$ref ? api.components.schemas[name(schema.$ref)] : schema);

function typeName(schema, api) {
  if (schema.$ref) return name(schema.$ref);
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.map((entry) => typeName(entry, api)).join(" or ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === "array") return `list of ${typeName(schema.items, api)}`;
  const bounds = schema.minimum !== undefined && schema.maximum !== undefined ? `, ${schema.minimum} to ${schema.maximum}` : "";
  return `${schema.format ?? schema.type ?? "any"}${bounds}`;
}

/** The first example of each field, for a request that works as it stands. */
function curl(operation, body, api) {
  const places = Object.fromEntries((operation.parameters ?? []).map((entry) => [entry.name, entry.schema.type === "integer" ? "1" : entry.name.toUpperCase()]));
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, key) => places[key]);
  const lines = [`curl ${location.origin}${path}`];
  if (operation.method !== "GET") lines[0] = `curl -X ${operation.method} ${location.origin}${path}`;
  if (body) {
    const { properties, required = [] } = resolve(body, api);
    const names = required.length ? required : Object.keys(properties);
    const example = Object.fromEntries(names.map((key) => [key, properties[key].examples?.[0]]));
    const shown = JSON.stringify(example).replaceAll("'", String.raw`'\''`);
    lines.push("  -H 'Content-Type: application/json'", `  -d '${shown}'`);
  }
  return lines.join(" \\\n");
}

async function begin() {
  let api;
  try {
    api = await (await fetch("/openapi.json")).json();
  } catch {
    main.append(h("p", { role: "alert", text: "The server does not answer. Reload the page to try again." }));
    return;
  }
  show(api);
}

begin();
