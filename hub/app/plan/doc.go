// Package plan answers Plans: what applying an EcommerceApp would change on the hub and in the
// members.
//
// # Purpose
//
// A user without credentials of members asks the hub, by a Plan. The hub checks that the user may
// apply the EcommerceApp, decides its placement as the controller of applications would, and sends
// to each member concerned, as dry runs, the writes that would follow: those of the copy and those
// of its children, by the code that makes the writes themselves. The answer is the status of the
// Plan, in one write. The hub deletes the Plan some minutes later.
//
// # Non-goals
//
// The package changes nothing but Plans, and a Plan approves nothing: what is applied later may
// have other effects. It plans no backups, restores and StorageClasses.
//
// # Trade-offs
//
//   - The spec names the requester, because a controller cannot see who created an object. An admission
//     policy compares it with the user of the request. A Plan is refused without the policy, and
//     if it is older than that. In the moment until the API server enforces a new policy, a user
//     could name another one.
//   - The review has the name, the UID and the groups of the user, and no extra attributes: an
//     authorizer that restricts a user by them would allow more here. What a Plan shows is
//     what the user sees once the EcommerceApp is applied.
//   - All members are asked at a time, and each answers by a deadline or is unknown, so that a slow
//     one holds up no other. A member that is not connected is not waited for.
//   - In a member with an agent the hub may not read or write children. What changes of the copy is
//     planned; the children are unknown if the copy changes.
//   - API servers admit nothing to a namespace that does not exist. There the copy is validated in
//     the hub's own namespace, and children are listed without being validated.
//   - An object that is deleted and created again is not created as a dry run, since it exists.
//   - What an application propagates is read once for all members, and compared with what they have,
//     by the code that writes it. No dry run is sent for it: a policy or a quota of a member that denies
//     it is not seen.
//   - Children are planned from the copy as the member answered it, so that its schema has
//     validated and completed what is rendered.
package plan
