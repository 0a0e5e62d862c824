package ec2

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

// resource represents a resource that a request concerns. EC2 authorizes a request for each of them.
type resource struct {
	arn     string
	context map[string][]string
	// created is true if the request creates it, and tagged if it gives it tags.
	created, tagged bool
}

func volumeARN(who caller, id string) string {
	return fmt.Sprintf("arn:aws:ec2:%s:%s:volume/%s", who.region, who.account, id)
}

func snapshotARN(region, id string) string {
	return fmt.Sprintf("arn:aws:ec2:%s::snapshot/%s", region, id)
}

// existing returns a resource with its current tags. The tags of the request are not in its
// context; a policy that expected them caused
// https://github.com/kubernetes/kops/issues/17754.
func existing(arn string, tags map[string]string) resource {
	context := map[string][]string{}
	for key, value := range tags {
		context["aws:ResourceTag/"+key], context["ec2:ResourceTag/"+key] = []string{value}, []string{value}
	}
	return resource{arn: arn, context: context}
}

// created returns a resource that the request creates. Its only tags are those of the request.
func created(arn string, tags map[string]string) resource {
	context := map[string][]string{}
	for key, value := range tags {
		context["aws:RequestTag/"+key] = []string{value}
	}
	if len(tags) > 0 {
		context["aws:TagKeys"] = slices.Sorted(maps.Keys(tags))
	}
	return resource{arn: arn, context: context, created: true, tagged: len(tags) > 0}
}

func existingSnapshot(s fake.Snapshot) resource { return existing(snapshotARN(s.Region, s.ID), s.Tags) }

func existingVolume(who caller, v fake.Volume) resource {
	return existing(volumeARN(who, v.ID), v.Tags)
}

// authorize refuses a request that the policy does not allow for one of its resources, and
// afterwards one that is a dry run. Tags at creation need ec2:CreateTags on what is created.
func (s *Server) authorize(who caller, p *params, resources ...resource) *fault {
	action := p.form.Get("Action")
	for _, r := range resources {
		context := maps.Clone(r.context)
		if context == nil {
			context = map[string][]string{}
		}
		context["ec2:Region"] = []string{who.region}
		asked := []iam.Request{{Action: "ec2:" + action, Resource: r.arn, Context: context}}
		if r.created && r.tagged {
			tagging := maps.Clone(context)
			tagging["ec2:CreateAction"] = []string{action}
			asked = append(asked, iam.Request{Action: "ec2:CreateTags", Resource: r.arn, Context: tagging})
		}
		for _, request := range asked {
			if !who.policy.Allows(request) {
				s.log.Refuse(request.Action + " on " + r.arn)
				return unauthorized(who, strings.TrimPrefix(request.Action, "ec2:"))
			}
		}
	}
	if p.dry {
		return &fault{
			status: http.StatusPreconditionFailed, code: "DryRunOperation",
			message: "Request would have succeeded, but DryRun flag is set.",
		}
	}
	return nil
}

// authorized answers a request of an action that supports no resources.
func (s *Server) authorized(who caller, p *params, answers func(caller, *params) (answer, *fault)) (answer, *fault) {
	if !who.policy.Allows(iam.Request{Action: "ec2:" + p.form.Get("Action"), Resource: "*"}) {
		s.log.Refuse("ec2:" + p.form.Get("Action"))
		return nil, unauthorized(who, p.form.Get("Action"))
	}
	return answers(who, p)
}

// keyActions returns what a user of EBS encryption needs on a customer managed key:
// https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html.
func keyActions() []string {
	return []string{
		"kms:DescribeKey", "kms:Decrypt", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:CreateGrant",
	}
}

// keyARN returns the ARN of a key of any form: an alias stands for its key.
func keyARN(who caller, key string) string {
	if strings.HasPrefix(key, "arn:") {
		return key
	}
	return fmt.Sprintf("arn:aws:kms:%s:%s:key/%s", who.region, who.account, strings.TrimPrefix(key, "alias/"))
}

// hasKey reports whether a key is in the region of a caller; without one, EBS has its own. EBS accepts
// a request with another key, and does not carry it out:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CopySnapshot.html.
func (s *Server) hasKey(who caller, key string) bool {
	if key == "" {
		return true
	}
	arn := keyARN(who, key)
	return strings.HasPrefix(arn, fmt.Sprintf("arn:aws:kms:%s:", who.region)) && (s.kms == nil || slices.Contains(s.kms, arn))
}

// mayUse reports whether a caller may use customer managed keys; it skips empty ones. EBS
// accepts a request without that permission, and does not carry it out.
func (s *Server) mayUse(who caller, keys ...string) bool {
	may := true
	for _, key := range keys {
		if key == "" {
			continue
		}
		for _, action := range keyActions() {
			request := iam.Request{Action: action, Resource: keyARN(who, key), Context: map[string][]string{"kms:GrantIsForAWSResource": {"true"}}}
			if !who.policy.Allows(request) {
				s.log.Refuse(action + " on " + key)
				may = false
			}
		}
	}
	return may
}
