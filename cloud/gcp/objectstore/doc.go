// Package objectstore implements cloud.ObjectStore for Google Cloud Storage through its JSON API.
//
// # Purpose
//
//   - Open creates Objects with the credentials that package identity provides.
//   - An upload has ifGenerationMatch=0: it creates an object or has no effect. If the object exists,
//     its content is read and compared.
//   - The content of a download is verified with the CRC32C of the object.
//   - Federated and ambient identities have no key to sign URLs with. SignRequests therefore returns
//     tokens: Google's Security Token Service exchanges a token of the account for one with a
//     Credential Access Boundary, which names the bucket, one role and the objects. There is one
//     token for all uploads of a call, with the role storage.objectCreator, and one for all
//     downloads, with storage.objectViewer. The signed requests use the XML API, whose URLs need no
//     query.
//
// # Non-goals
//
// The package neither creates nor configures buckets. The bucket must have uniform bucket-level
// access, otherwise Google refuses tokens with a boundary. With soft deletion, deleted objects are
// kept, and charged, for some days. Config.HTTP verifies the certificate of the endpoint.
//
// # Trade-offs
//
//   - A token allows more than the requests that it is issued for: all objects whose names begin with
//     the common prefix of the requested ones, or the one requested object. Callers that request only
//     the parts of a backup do not give away the right to create its manifest. The condition names
//     objects, so that objectViewer cannot list.
//   - The holder of a token may omit the header x-goog-if-generation-match. Objects are not
//     overwritten in this case either, because that requires storage.objects.delete, which
//     objectCreator does not include.
//   - Google determines the lifetime of a token, up to an hour. If a shorter lifetime is requested,
//     ExpiresAt is earlier, but the token remains valid. An upload session that was started with the
//     token continues for up to a week.
//   - Downscoping is documented for tokens of service accounts. Set spec.gcp.serviceAccount for
//     federated identities: where Google does not downscope their own tokens, SignRequests fails
//     with Invalid.
//   - A small object is read with two requests, the first for its metadata: an error response to a
//     download has no body that distinguishes a refusal of the service from one of a proxy.
package objectstore
