"""Drives the fake EC2 with boto3, and tells as JSON what came of it.

Each answer is also compared with Amazon's own description of it: an element that the
description does not have is told under "unknown".
"""
import json
import sys
import urllib.request
import xml.etree.ElementTree as ElementTree

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

URL, ID, SECRET = sys.argv[1:4]
HERE, THERE = "eu-central-1", "eu-west-1"
found = {"unknown": []}


def client(service, region=HERE, key=ID, secret=SECRET, token=None):
    made = boto3.client(
        service, region_name=region, endpoint_url=URL, aws_access_key_id=key, aws_secret_access_key=secret,
        aws_session_token=token, config=Config(retries={"total_max_attempts": 1}))
    made.meta.events.register("after-call." + service, compare)
    return made


def compare(http_response, model, **_):
    if http_response.status_code == 200:
        root = ElementTree.fromstring(http_response.content)
        children = [c for c in root if name(c) not in ("requestId", "return", "ResponseMetadata")]
        if "resultWrapper" in (model.output_shape.serialization if model.output_shape else {}):
            children = [g for c in children for g in c]
        members(children, model.output_shape, model.name)


def name(element):
    return element.tag.rpartition("}")[2]


def members(children, shape, path):
    known = {m.serialization.get("name", n): m for n, m in shape.members.items()} if shape else {}
    for child in children:
        if name(child) not in known:
            found["unknown"].append(path + "." + name(child))
        else:
            walk(child, known[name(child)], path + "." + name(child))


def walk(element, shape, path):
    if shape.type_name == "structure":
        members(list(element), shape, path)
    elif shape.type_name == "list":
        for child in element:
            if name(child) != shape.member.serialization.get("name", "item"):
                found["unknown"].append(path + "." + name(child))
            walk(child, shape.member, path)
    elif len(element):
        found["unknown"].append(path + " has children")
    elif getattr(shape, "enum", None) and element.text not in shape.enum:
        found["unknown"].append(path + "=" + str(element.text))


def step(seconds):
    urllib.request.urlopen(URL + "/step?seconds=%d" % seconds).read()


def code(call, **arguments):
    try:
        call(**arguments)
        return "none"
    except ClientError as e:
        return "%d %s" % (e.response["ResponseMetadata"]["HTTPStatusCode"], e.response["Error"]["Code"])


def tags(kind, **values):
    return [{"ResourceType": kind, "Tags": [{"Key": k, "Value": v} for k, v in values.items()]}]


here, there = client("ec2"), client("ec2", THERE)

# The volume of a cluster.
described = here.describe_volumes(Filters=[{"Name": "tag:CSIVolumeName", "Values": ["da*"]}])["Volumes"]
volume = described[0]
found["volume"] = {k: volume[k] for k in ("AvailabilityZone", "Size", "VolumeType", "Iops", "Throughput", "Encrypted", "State")}
found["volumes"] = [len(described), here.describe_volumes(VolumeIds=[volume["VolumeId"]])["Volumes"] == described, volume["Tags"]]

# Snapshots.
first = here.create_snapshot(VolumeId=volume["VolumeId"], Description="one", TagSpecifications=tags("snapshot", name="s"))
second = here.create_snapshot(VolumeId=volume["VolumeId"], Description="one", TagSpecifications=tags("snapshot", name="s"))
mine = dict(OwnerIds=["self"], Filters=[{"Name": "tag:name", "Values": ["s"]}])
found["snapshot"] = {k: first[k] for k in ("State", "Progress", "VolumeSize", "Encrypted", "OwnerId", "Description")}
found["twice"] = [first["SnapshotId"] != second["SnapshotId"], len(here.describe_snapshots(**mine)["Snapshots"])]
found["early"] = code(there.copy_snapshot, SourceRegion=HERE, SourceSnapshotId=first["SnapshotId"])
step(15)
found["half"] = here.describe_snapshots(SnapshotIds=[first["SnapshotId"]])["Snapshots"][0]["Progress"]
step(60)
here.get_waiter("snapshot_completed").wait(SnapshotIds=[first["SnapshotId"], second["SnapshotId"]])
for _ in range(11):
    here.create_snapshot(VolumeId=volume["VolumeId"], TagSpecifications=tags("snapshot", name="s"))
pages = here.get_paginator("describe_snapshots").paginate(PaginationConfig={"PageSize": 5}, **mine)
found["pages"] = [len(p["Snapshots"]) for p in pages]
found["owners"] = [len(here.describe_snapshots(**o)["Snapshots"]) for o in (dict(OwnerIds=["self"]), dict(OwnerIds=["222222222222"]), {})]

# Copies.
copy = there.copy_snapshot(
    SourceRegion=HERE, SourceSnapshotId=first["SnapshotId"], Encrypted=True, TagSpecifications=tags("snapshot", name="copy"))
got = there.describe_snapshots(SnapshotIds=[copy["SnapshotId"]])["Snapshots"][0]
found["copy"] = [got["State"], got["Encrypted"], got["VolumeId"], got["Tags"], copy["Tags"]]
found["copy here"] = code(here.describe_snapshots, SnapshotIds=[copy["SnapshotId"]])

# Refusals.
found["refused"] = [
    code(here.create_snapshot, VolumeId="vol-0123456789abcdef0"),
    code(here.create_snapshot, VolumeId="disk-1"),
    code(here.describe_snapshots, SnapshotIds=["snap-0123456789abcdef0"]),
    code(here.describe_snapshots, Filters=[{"Name": "colour", "Values": ["red"]}]),
    code(here.describe_snapshots, MaxResults=4),
    code(here.describe_snapshots, MaxResults=5, NextToken="!"),
    code(here.describe_snapshots, MaxResults=5, SnapshotIds=[first["SnapshotId"]]),
    code(here.create_snapshot, VolumeId=volume["VolumeId"], Location="local"),
    code(here.create_snapshot, VolumeId=volume["VolumeId"], TagSpecifications=tags("snapshot", **{"aws:x": "y"})),
    code(here.create_snapshot, VolumeId=volume["VolumeId"], TagSpecifications=tags("snapshot", x="y" * 257)),
    code(here.create_snapshot, VolumeId=volume["VolumeId"], TagSpecifications=tags("volume", x="y")),
    code(here.create_snapshot, VolumeId=volume["VolumeId"], DryRun=True),
    code(here.describe_instances),
    code(here.create_volume, AvailabilityZone=HERE + "a", SnapshotId=first["SnapshotId"]),
    code(client("ec2", key="AKIANOBODY").describe_volumes),
    code(client("ec2", secret="wrong").describe_volumes),
    code(client("sts", secret="wrong").get_caller_identity),
]

# Deletion.
found["deleted"] = [code(here.delete_snapshot, SnapshotId=first["SnapshotId"]) for _ in range(2)]

# Identities.
sts = client("sts")
who = sts.get_caller_identity()
role = dict(RoleArn="arn:aws:iam::222222222222:role/backup", RoleSessionName="boto")
lent = sts.assume_role(ExternalId="tenant-7", **role)["Credentials"]
keys = dict(key=lent["AccessKeyId"], secret=lent["SecretAccessKey"])
found["who"] = [who["Account"], who["Arn"], client("sts", token=lent["SessionToken"], **keys).get_caller_identity()["Arn"]]
found["role"] = [
    code(sts.assume_role, **role),
    code(client("ec2", **keys).describe_volumes),
    code(client("ec2", token=lent["SessionToken"], **keys).describe_volumes)]
step(3600)
found["expired"] = [code(client(s, token=lent["SessionToken"], **keys).__getattribute__(c)) for s, c in (
    ("ec2", "describe_volumes"), ("sts", "get_caller_identity"))]
print(json.dumps(found))
