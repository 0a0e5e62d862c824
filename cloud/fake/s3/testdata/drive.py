"""Drives the fake S3 with boto3, and tells as JSON what came of it.

Each answer is also compared with Amazon's own description of it: an element that the
description does not have is told under "unknown".
"""
import base64
import hashlib
import json
import sys
import urllib.error
import urllib.request
import xml.etree.ElementTree as ElementTree

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

URL, ID, SECRET, BUCKET = sys.argv[1:5]
HERE = "eu-central-1"
found = {"unknown": []}


def client(region=HERE, key=ID, secret=SECRET, token=None):
    made = boto3.client(
        "s3", region_name=region, endpoint_url=URL, aws_access_key_id=key, aws_secret_access_key=secret, aws_session_token=token,
        config=Config(retries={"total_max_attempts": 1}, signature_version="s3v4", s3={"addressing_style": "path"}))
    made.meta.events.register("after-call.s3", compare)
    return made


def compare(http_response, model, **_):
    if http_response.status_code == 200 and model.name != "GetObject" and http_response.content:
        members(ElementTree.fromstring(http_response.content), model.output_shape, model.name)


def name(element):
    return element.tag.rpartition("}")[2]


def members(element, shape, path):
    known = {m.serialization.get("name", n): m for n, m in shape.members.items()}
    for child in element:
        if name(child) not in known:
            found["unknown"].append(path + "." + name(child))
            continue
        of = known[name(child)]
        if of.type_name == "list" and of.serialization.get("flattened"):
            of = of.member
        if of.type_name == "structure":
            members(child, of, path + "." + name(child))


def step(seconds):
    urllib.request.urlopen(URL + "/step?seconds=%d" % seconds).read()


def code(call, **arguments):
    try:
        call(**arguments)
        return "none"
    except ClientError as e:
        return "%d %s" % (e.response["ResponseMetadata"]["HTTPStatusCode"], e.response["Error"]["Code"])


def send(method, url, body=None, **headers):
    request = urllib.request.Request(url, data=body, method=method, headers={k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request) as answer:
            return [answer.status, answer.read().decode("latin-1")]
    except urllib.error.HTTPError as e:
        text = e.read()
        return [e.code, ElementTree.fromstring(text).findtext("Code")]


s3 = client()
odd = "a/b c+d=&ü~$'(x)*"

# Objects.
put = s3.put_object(Bucket=BUCKET, Key=odd, Body=b"first", IfNoneMatch="*")
got = s3.get_object(Bucket=BUCKET, Key=odd)
head = s3.head_object(Bucket=BUCKET, Key=odd)
found["put"] = [put["ETag"] == '"%s"' % hashlib.md5(b"first").hexdigest(), got["Body"].read().decode(), got["ETag"] == head["ETag"] == put["ETag"],
                head["ContentLength"], head["LastModified"].isoformat()]
found["over"] = [
    code(s3.put_object, Bucket=BUCKET, Key=odd, Body=b"other", IfNoneMatch="*"),
    code(s3.put_object, Bucket=BUCKET, Key=odd, Body=b"other", IfNoneMatch='"x"'),
    s3.get_object(Bucket=BUCKET, Key=odd)["Body"].read().decode(),
    code(s3.put_object, Bucket=BUCKET, Key=odd, Body=b"other"),
    s3.get_object(Bucket=BUCKET, Key=odd, Range="bytes=1-3")["Body"].read().decode()]
s3.put_object(Bucket=BUCKET, Key="empty")
found["empty"] = [s3.get_object(Bucket=BUCKET, Key="empty")["ContentLength"], code(s3.get_object, Bucket=BUCKET, Key="empty", Range="bytes=0-1")]
big = bytes(range(256)) * 40000
s3.put_object(Bucket=BUCKET, Key="big", Body=big, ContentMD5=base64.b64encode(hashlib.md5(big).digest()).decode())
found["big"] = s3.get_object(Bucket=BUCKET, Key="big")["Body"].read() == big

# Lists.
for i in range(7):
    s3.put_object(Bucket=BUCKET, Key="list/%d ü" % i, Body=b"x" * (i + 1))
pages = list(s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix="list/", PaginationConfig={"PageSize": 3}))
found["pages"] = [[len(p["Contents"]), p["KeyCount"], p["IsTruncated"]] for p in pages]
found["list"] = [[o["Key"], o["Size"], o["StorageClass"]] for p in pages for o in p["Contents"]]
found["after"] = [o["Key"] for o in s3.list_objects_v2(Bucket=BUCKET, Prefix="list/", StartAfter="list/4 ü")["Contents"]]
found["none"] = [s3.list_objects_v2(Bucket=BUCKET, Prefix="nothing")["KeyCount"], s3.list_objects_v2(Bucket=BUCKET, MaxKeys=0)["IsTruncated"]]

# Deletion.
found["deleted"] = [code(s3.delete_object, Bucket=BUCKET, Key=odd) for _ in range(2)] + [
    code(s3.get_object, Bucket=BUCKET, Key=odd), code(s3.head_object, Bucket=BUCKET, Key=odd), code(s3.head_bucket, Bucket=BUCKET)]

# Refusals.
found["refused"] = [
    code(s3.get_object, Bucket="nobody", Key="x"),
    code(s3.list_objects_v2, Bucket=BUCKET, ContinuationToken="!"),
    code(s3.list_objects, Bucket=BUCKET),
    code(s3.list_objects_v2, Bucket=BUCKET, Delimiter="/"),
    code(s3.put_object, Bucket=BUCKET, Key="x", Body=b"x", StorageClass="STANDARD_IA"),
    code(s3.put_object, Bucket=BUCKET, Key="x", Body=b"x", ContentMD5="1B2M2Y8AsgTpgAmY7PhCfg=="),
    code(s3.put_object, Bucket=BUCKET, Key="x", Body=b"x", ChecksumCRC32="AAAAAA=="),
    code(s3.create_multipart_upload, Bucket=BUCKET, Key="x"),
    code(s3.get_object_tagging, Bucket=BUCKET, Key="big"),
    code(client(key="AKIANOBODY").list_objects_v2, Bucket=BUCKET),
    code(client(secret="wrong").list_objects_v2, Bucket=BUCKET),
    code(client(token="none").list_objects_v2, Bucket=BUCKET),
    code(client(region="us-east-1").list_objects_v2, Bucket=BUCKET)]

# Signed requests.
put = s3.generate_presigned_url("put_object", Params={"Bucket": BUCKET, "Key": "signed ü", "IfNoneMatch": "*"}, ExpiresIn=60)
get = s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "signed ü"}, ExpiresIn=60)
found["signed"] = [
    send("GET", get), send("PUT", put, b"x"), send("PUT", put, b"first", If_None_Match="*"), send("PUT", put, b"other", If_None_Match="*"),
    send("GET", get), send("PUT", get, b"x"), send("GET", get.replace("signed", "other")), send("GET", get + "&x-id=GetObject"),
    send("GET", get, X_Amz_Meta_X="y"), send("GET", URL + "/" + BUCKET + "/big"), send("GET", get.replace("X-Amz-Expires=60", "X-Amz-Expires=99999999"))]
step(120)
found["expired"] = [send("GET", get), send("PUT", put, b"x", If_None_Match="*")]
step(16 * 60)
found["skewed"] = code(s3.list_objects_v2, Bucket=BUCKET)
print(json.dumps(found))
