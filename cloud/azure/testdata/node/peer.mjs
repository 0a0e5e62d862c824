// Does with Microsoft's own client what the hub does, against the server that the
// environment names, and prints what came of it as JSON.
import { ComputeManagementClient } from "@azure/arm-compute";

const { ENDPOINT, TENANT, CLIENT_ID, CLIENT_SECRET, SUBSCRIPTION, GROUP } = process.env;

// @azure/identity refuses sign-in hosts that it does not know.
const credential = {
  async getToken(scopes) {
    const answer = await fetch(`${ENDPOINT}/${TENANT}/oauth2/v2.0/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "client_credentials",
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        scope: [scopes].flat().join(" "),
      }),
    });
    const { access_token: token, expires_in: seconds } = await answer.json();
    return { token, expiresOnTimestamp: Date.now() + seconds * 1000 };
  },
};

const client = new ComputeManagementClient(credential, SUBSCRIPTION, { endpoint: ENDPOINT, retryOptions: { maxRetries: 0 } });
const wait = { updateIntervalInMs: 1 };
const refusal = async (promise) => {
  try {
    await promise;
    return "none";
  } catch (error) {
    return `${error.statusCode} ${error.code}`;
  }
};
const snapshot = (location, createOption, sourceResourceId) => ({
  location,
  tags: { "made-by": "peer" },
  incremental: true,
  networkAccessPolicy: "DenyAll",
  publicNetworkAccess: "Disabled",
  creationData: { createOption, sourceResourceId },
});
const out = {};

const disk = await client.disks.createOrUpdate(
  GROUP, "data", { location: "eastus", zones: ["1"], sku: { name: "Premium_LRS" }, diskSizeGB: 8, creationData: { createOption: "Empty" } }, wait);
out.disk = [disk.name, disk.provisioningState, disk.diskSizeGB, disk.sku.name, disk.zones, Boolean(disk.uniqueId)];

const made = await client.snapshots.createOrUpdate(GROUP, "first", snapshot("eastus", "Copy", disk.id), wait);
out.snapshot = [made.provisioningState, made.incremental, made.tags, made.creationData.sourceUniqueId === disk.uniqueId, made.networkAccessPolicy];

let first = await client.snapshots.get(GROUP, "first");
for (let i = 0; i < 100 && first.completionPercent < 100; i++) {
  first = await client.snapshots.get(GROUP, "first");
}
out.ready = first.completionPercent;

let copy = await client.snapshots.createOrUpdate(GROUP, "second", snapshot("westeurope", "CopyStart", first.id), wait);
for (let i = 0; i < 100 && copy.completionPercent < 100; i++) {
  copy = await client.snapshots.get(GROUP, "second");
}
out.copy = [copy.location, copy.creationData.createOption, copy.creationData.sourceResourceId === first.id, copy.completionPercent, copy.copyCompletionError ?? null];

const restored = await client.disks.createOrUpdate(
  GROUP, "restored", { location: "westeurope", diskSizeGB: 16, creationData: { createOption: "Copy", sourceResourceId: copy.id } }, wait);
out.restored = [restored.diskSizeGB, restored.creationData.sourceResourceId === copy.id];

const list = async (pages) => {
  const names = [];
  for await (const page of pages.byPage()) {
    names.push(page.map((one) => one.name));
  }
  return names;
};
out.snapshots = await list(client.snapshots.listByResourceGroup(GROUP));
out.disks = await list(client.disks.listByResourceGroup(GROUP));

out.missing = await refusal(client.snapshots.get(GROUP, "none"));
out.otherSource = await refusal(client.snapshots.createOrUpdate(GROUP, "first", snapshot("eastus", "Copy", restored.id), wait));
out.badTag = await refusal(client.snapshots.createOrUpdate(GROUP, "third", { ...snapshot("eastus", "Copy", disk.id), tags: { "a/b": "c" } }, wait));
out.noGroup = await refusal(client.snapshots.get("elsewhere", "first"));

await client.snapshots.delete(GROUP, "first", wait);
await client.snapshots.delete(GROUP, "first", wait);
out.left = await list(client.snapshots.listByResourceGroup(GROUP));

console.log(JSON.stringify(out));
