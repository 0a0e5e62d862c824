// Package objectstore is the port to a bucket of Google Cloud Storage, through its JSON API.
//
// # What
//
//   - Open connects to the bucket of an account. Its credentials are those of package gcp.
//   - An upload has ifGenerationMatch=0: it makes an object or does nothing. Where one is
//     there, its content is read and compared.
//   - What is read is compared with its CRC32C, which the object itself tells.
//   - Federated and ambient identities have no key to sign URLs with. SignRequests
//     therefore hands out tokens: Google's Security Token Service exchanges a token of the
//     account for one with a Credential Access Boundary, which names the bucket, one role
//     and the objects. There is one for all uploads of a call, with the role
//     storage.objectCreator, and one for all downloads, with storage.objectViewer. The
//     requests are of the XML API, whose URLs need no query.
//
// # Not
//
// No bucket is made, and none is configured. The bucket must have uniform bucket-level
// access, or Google takes no token with a boundary for it. An object that is deleted may
// stay for some days, and be paid for, where the bucket has a policy of soft deletion. The
// endpoint's certificate is a matter of Config.HTTP.
//
// # Trade-offs
//
//   - A token is good for more than the requests that it is handed out with: for all
//     objects whose names begin with what the wanted ones have in common, or for the one
//     that is wanted. Whoever asks for the parts of a backup alone gives nobody the right
//     to make its manifest. The condition names objects, so that objectViewer, which could
//     list, lists nothing.
//   - Whoever holds a token may leave the header x-goog-if-generation-match out. That does
//     not write anything over: overwriting needs storage.objects.delete, which
//     objectCreator does not have.
//   - Google alone says how long a token is good: up to an hour. ExpiresAt is earlier where
//     a shorter life is asked for, though the token then outlives it. An upload session
//     that was begun with the token goes on for up to a week, and makes objects that the
//     token could have made.
//   - Downscoping is documented for tokens of service accounts. A federated identity is
//     surest with spec.gcp.serviceAccount; where Google does not narrow its own token,
//     SignRequests is Invalid and says so.
//   - A small object is read with two requests, the first for what it is: the answers of a
//     download have no body that tells one refusal from another, or from a proxy's.
package objectstore
