// Does with Microsoft's own client what the hub and its members do, against the server
// that the environment names, and prints what came of it as JSON.
import {
  BlobClient,
  BlobSASPermissions,
  BlobServiceClient,
  SASProtocol,
  generateBlobSASQueryParameters,
} from "@azure/storage-blob";

const { ENDPOINT, ACCOUNT, CONTAINER, TENANT, CLIENT_ID, CLIENT_SECRET, NOW } = process.env;
const url = `${ENDPOINT}/${ACCOUNT}`;

// @azure/identity refuses sign-in hosts that it does not know.
const credential = {
  async getToken(scopes) {
    const answer = await fetch(`${url}/${TENANT}/oauth2/v2.0/token`, {
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
const options = { retryOptions: { maxTries: 1 } };
const service = new BlobServiceClient(url, credential, options);
const container = service.getContainerClient(CONTAINER);

const outcome = async (promise) => {
  try {
    return (await promise)._response.status;
  } catch (error) {
    return `${error.statusCode} ${error.code}`;
  }
};
const text = async (client) => (await client.downloadToBuffer()).toString();
const upload = (client, content, conditions) => outcome(client.getBlockBlobClient().upload(content, content.length, { conditions }));

const minutes = (n) => new Date(Date.parse(NOW) + n * 60_000);
const key = await service.getUserDelegationKey(minutes(-15), minutes(120));
const signed = (blobName, permissions, more = {}) => {
  const values = {
    containerName: CONTAINER,
    blobName,
    permissions: BlobSASPermissions.parse(permissions),
    expiresOn: minutes(10),
    protocol: SASProtocol.Https,
    ...more,
  };
  const query = generateBlobSASQueryParameters(values, key, ACCOUNT);
  return new BlobClient(`${url}/${CONTAINER}/${more.elsewhere ?? blobName}?${query}`, undefined, options);
};

const once = { ifNoneMatch: "*" };
const out = {};
out.put = await upload(container.getBlobClient("a/one"), "first", once);
out.again = await upload(container.getBlobClient("a/one"), "other", once);
out.content = await text(container.getBlobClient("a/one"));
out.signed = [];
for (const version of ["2020-12-06", "2022-11-02", "2025-07-05", undefined]) {
  const name = `a/by-${version ?? "newest"}`;
  const create = signed(name, "c", { version });
  out.signed.push([
    await upload(create, name, once),
    await upload(create, "other"),
    await text(signed(name, "r", { version })),
  ]);
}
out.refused = [
  await upload(signed("a/two", "r"), "x"),
  await upload(signed("a/two", "c", { elsewhere: "a/three" }), "x"),
  await upload(signed("a/two", "c", { expiresOn: minutes(-1) }), "x"),
  await upload(signed("a/two", "c", { startsOn: minutes(1) }), "x"),
  await outcome(signed("a/one", "c").download()),
  await outcome(signed("a/one", "rcw").delete()),
  await outcome(signed("a/none", "r").download()),
];
out.pages = [];
for await (const page of container.listBlobsFlat({ prefix: "a/" }).byPage({ maxPageSize: 2 })) {
  out.pages.push(page.segment.blobItems.map((b) => [b.name, b.properties.contentLength, b.properties.blobType]));
}
out.range = (await container.getBlobClient("a/one").downloadToBuffer(1, 3)).toString();
out.properties = (await container.getBlobClient("a/one").getProperties()).contentLength;
out.over = [await upload(container.getBlobClient("a/one"), "third"), await text(container.getBlobClient("a/one"))];
out.deleted = [
  await outcome(container.getBlobClient("a/one").delete({ deleteSnapshots: "include" })),
  await outcome(container.getBlobClient("a/one").delete()),
];
out.missing = await outcome(service.getContainerClient("missing").getBlobClient("a").download());
console.log(JSON.stringify(out));
