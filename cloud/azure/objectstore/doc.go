// Package objectstore is Azure Blob Storage as a bucket: a container of a storage account.
//
// # What
//
//   - Open makes cloud.Objects of a CloudAccount with spec.objectStorage: the container
//     <bucket> at https://<storageAccount>.blob.core.windows.net, or at the endpoint.
//   - Objects are block blobs, each made by one Put Blob with If-None-Match: *.
//   - Signed requests are shared access signatures by a user delegation key, each for one
//     blob and for one thing: c, which makes a blob where none is, or r. The service
//     refuses c over what is there with 403 UnauthorizedBlobOverwrite, whatever the
//     headers are. A key is asked for once, and again when it would not outlive what it
//     is to sign.
//
// # Rights
//
// The identity needs Storage Blob Data Contributor on the container, and to sign also
// Storage Blob Delegator on the storage account, of which a container has none. A denial
// has the missing permission as its code.
//
// # Not
//
// No account keys, and no signature that they make. No request is repeated, but for one
// whose token had expired. No versions of blobs: a deletion leaves what the account keeps
// of deleted blobs, for as long as it keeps it.
//
// # Trade-offs
//
//   - Signatures are made here, in a few lines, and not by the SDK: it takes the account's
//     name from the host, which a private endpoint does not have there, and always signs
//     for its own newest version of the service. One version is signed for, which every
//     cloud and Microsoft's emulator have; the emulator checks it in the tests.
//   - A signature has no start: a member whose clock is late could not use it, and from
//     when on it counts protects nothing. Its key begins a quarter of an hour back.
//   - A checksum is not sent: the connection is TLS, and dumps carry their own.
package objectstore
