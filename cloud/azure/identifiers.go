package azure

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"

	"github.com/shopfleet/shopfleet/cloud"
)

// The types of resources, as they are in the middle of an ID.
const (
	typeDisks     = "disks"
	typeSnapshots = "snapshots"
	typeSets      = "diskEncryptionSets"
)

// located represents the location of a resource: its group and its name in that group.
type located struct{ group, name string }

// locateID parses the ID of a disk or snapshot. The case of its parts varies.
func (a *account) locateID(r request, kind, id string) (located, error) {
	parsed, err := arm.ParseResourceID(id)
	if err != nil || parsed.ResourceGroupName == "" || !strings.EqualFold(parsed.ResourceType.String(), "Microsoft.Compute/"+kind) {
		return located{}, r.refuse(cloud.ClassInvalid, "InvalidID",
			strconv.Quote(id)+" is not of the form /subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/"+kind+"/N")
	}
	if !strings.EqualFold(parsed.SubscriptionID, a.subscription) {
		return located{}, r.refuse(cloud.ClassInvalid, "OtherSubscription", strconv.Quote(id)+" is not in subscription "+a.subscription+" of the account")
	}
	return located{group: parsed.ResourceGroupName, name: parsed.Name}, nil
}

// id returns the ID of an object in the resource group of the region.
func (a *account) id(kind, name string) string { return a.idIn(a.group, kind, name) }

func (a *account) idIn(group, kind, name string) string {
	return "/subscriptions/" + a.subscription + "/resourceGroups/" + group + "/providers/Microsoft.Compute/" + kind + "/" + name
}

// spelled returns an ID with the account's spelling of subscription and groups, including groups of
// other regions: the service varies the case, and callers compare IDs exactly.
func (a *account) spelled(id string) string {
	parsed, err := arm.ParseResourceID(id)
	if err != nil || !strings.EqualFold(parsed.SubscriptionID, a.subscription) {
		return id
	}
	for _, group := range a.config.Spec.Azure.ResourceGroups {
		for _, kind := range []string{typeDisks, typeSnapshots} {
			if strings.EqualFold(parsed.ResourceGroupName, string(group)) && strings.EqualFold(parsed.ResourceType.String(), "Microsoft.Compute/"+kind) {
				return a.idIn(string(group), kind, parsed.Name)
			}
		}
	}
	return id
}

// region returns a location in the form that is compared: East US becomes eastus.
func region(location string) string {
	return strings.ToLower(strings.ReplaceAll(location, " ", ""))
}

// attempted returns the name of an object after a number of failed attempts.
func attempted(name string, attempt int) string {
	if attempt <= 0 {
		return name
	}
	return name + "-" + strconv.Itoa(attempt)
}

// copied returns the name of a copy in a region: in a group, each name exists once over
// all regions.
func copied(name, region string) string {
	sum := sha256.Sum256([]byte(region))
	return name + "-" + hex.EncodeToString(sum[:4])
}

// owner returns the owner that tags name.
func owner(tags cloud.Tags) cloud.Owner {
	return cloud.Owner{Hub: tags[cloud.TagHub], App: tags[cloud.TagApp]}
}

func toTags(tags cloud.Tags) map[string]*string {
	out := make(map[string]*string, len(tags))
	for key, value := range tags {
		out[key] = new(value)
	}
	return out
}

// fromTags reads tags, whose keys the service compares without case.
func fromTags(tags map[string]*string) cloud.Tags {
	out := make(cloud.Tags, len(tags))
	for key, value := range tags {
		if lower := strings.ToLower(key); strings.HasPrefix(lower, "shopfleet-") {
			key = lower
		}
		out[key] = deref(value)
	}
	return out
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

const gib = int64(1) << 30

// sizeOf returns the size of a disk or snapshot, which the service returns in one of two
// fields.
func sizeOf(exact *int64, inGiB *int32) int64 {
	if exact != nil && *exact > 0 {
		return *exact
	}
	return int64(deref(inGiB)) * gib
}
