// Lists, activates, calls, streams and cancels over gRPC, and prints what it saw as one JSON document.
// node drive.js NODE_MODULES PROTO TARGET TOKEN SKILL_FILE
const fs = require("fs");
const path = require("path");
const [modules, proto, target, token, skillFile] = process.argv.slice(2);
const grpc = require(path.join(modules, "@grpc/grpc-js"));
const loader = require(path.join(modules, "@grpc/proto-loader"));

const definition = loader.loadSync(proto, { keepCase: true, enums: String, defaults: true, oneofs: true });
const { ToolService } = grpc.loadPackageDefinition(definition).toolcrib.v1;
const client = new ToolService(target, grpc.credentials.createInsecure(), { "grpc.default_authority": "localhost" });
const metadata = new grpc.Metadata();
metadata.set("authorization", `Bearer ${token}`);

const ask = (method, request, meta = metadata) =>
  new Promise((resolve, reject) =>
    client[method](request, meta, (error, answer) => (error ? reject(error) : resolve(answer))));

function stream(request, onEvent) {
  return new Promise((resolve, reject) => {
    const events = [];
    const call = client.CallToolStream(request, metadata);
    call.on("data", (event) => {
      events.push(event);
      onEvent(event, call);
    });
    call.on("error", (error) => (error.code === grpc.status.CANCELLED ? resolve(events) : reject(error)));
    call.on("end", () => resolve(events));
  });
}

async function main() {
  const said = {};
  const { session_id } = await ask("CreateSession", {});
  const names = async () => (await ask("ListTools", { session_id })).tools.map((tool) => tool.name);
  said.before = await names();
  const content = fs.readFileSync(skillFile, "utf8");
  said.activated = (await ask("UseSkill", { session_id, skill_name: "shout", skill_content: content })).tool_names;
  said.during = await names();
  said.skills = (await ask("ListActiveSkills", { session_id })).skills.map((skill) => skill.name);

  const args = { session_id, tool_name: "count", arguments_json: '{"upto": 9007199254740993}' };
  said.call = await ask("CallTool", args);
  said.failed = await ask("CallTool", { ...args, arguments_json: '{"upto": "x"}' });
  said.stream = await stream({ ...args, arguments_json: '{"upto": 3}' }, () => {});

  const slow = { session_id, tool_name: "wait_forever", call_id: "mine" };
  said.cancelled = await stream(slow, async (event) => {
    if (event.started) said.cancel = await ask("CancelCall", { session_id, call_id: event.started.call_id });
  });

  said.removed = (await ask("RemoveSkill", { session_id, skill_name: "shout" })).removed_tools;
  said.after = await names();
  said.ended = (await ask("EndSession", { session_id })).ended;
  try {
    await ask("ListTools", { session_id }, new grpc.Metadata());
  } catch (error) {
    said.stranger = error.code;
  }
  try {
    await ask("ListTools", { session_id });
  } catch (error) {
    said.gone = [error.code, error.metadata.get("toolcrib-code")[0]];
  }
  client.close();
  console.log(JSON.stringify(said));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
