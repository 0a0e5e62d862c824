// Package conversion proves the way to a second version of an API, with a v2 of EcommerceApp that exists in these tests
// only: spec.image has moved, and spec.replicas has become an object.
//
// # Purpose
//
// TestHub serves v2 beside v1 on the hub, by a conversion webhook, while a hub of v1 works: its reads, watches and writes
// go on, fields keep their managers in both versions, all objects are stored in v2, v1 is removed, and copies in
// members are written in v1 throughout. TestMember shows what strategy None does instead. It changes apiVersion, and the
// API server removes the fields that the schema of the version does not have:
//
//   - What both versions have alike stays, such as an optional field that is added to both. None converts nothing else.
//   - A field that moved or was renamed is missing when an object is read as the other version. It is lost in etcd when
//     the object is written as a version that is not stored, also by its author who then reads it as that version, and
//     by a write of the status alone. So is a field that one version has in addition.
//   - A field whose type changed is read with the type in which it is stored, or empty. Server-side apply as the other
//     version is refused until the object is replaced by an update.
//   - A default of a version that is not stored is missing when objects are read.
//   - What is left may break a rule, such as that of a required image. Then each further write is refused.
//
// A member that serves a version is therefore no reason to write it: a copy is complete in the version that the member stores.
//
// # Non-goals
//
// The product has no second version and nothing that converts. With one come
//
//   - a webhook in each process of the hub, also in those that do not lead, because the caches of all of them may need
//     it, and its certificate. It is installed before the definition, which with two versions has 460 kB, too much for kubectl apply
//     without --server-side. A field that only v2 has must be carried through v1, as in an annotation.
//   - a hub that reads which version a member stores, and reads and writes copies there in that version: today it is
//     the constant v1.GroupVersion. An agent needs the same, and a member stores v2 only when neither its agent nor a
//     hub that may be rolled back to writes v1. A standalone spoke, whose users write to it, needs the webhook too.
//   - conversion of what is stored elsewhere: specs in revisions, in Plans and in the patches of overrides.
//   - owner references to v2 before v1 is removed, and admission policies that read a spec for each version.
//
// # Trade-offs
//
// The definition is the shipped one, whose size costs the API server seconds for each change; a small one would not show
// that two versions of it fit. The webhook runs in the test's process and is down when a test says so: a webhook that
// hangs looks the same to the API server after its timeout.
package conversion
