/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-mixed-operators, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars, default-case, jsdoc/require-param*/
import $protobuf from "protobufjs/minimal.js";

const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;
const $Object = $util.global.Object, $undefined = $util.global.undefined, $Error = $util.global.Error, $RangeError = $util.global.RangeError;

const $root = $protobuf.roots["ring-agent"] || ($protobuf.roots["ring-agent"] = {});

export const ringagent = $root.ringagent = (() => {

    const ringagent = {};

    ringagent.activation = (function() {

        const activation = {};

        activation.DType = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "NONE"] = 0;
            values[valuesById[1] = "F32"] = 1;
            values[valuesById[2] = "F16"] = 2;
            values[valuesById[3] = "Q8_0"] = 3;
            return values;
        })();

        activation.Slice = (function() {

            const Slice = function (properties) {
                this.draft = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Slice.prototype.slot = 0;
            Slice.prototype.position = 0;
            Slice.prototype.tokens = 0;
            Slice.prototype.sample = false;
            Slice.prototype.draft = $util.emptyArray;

            Slice.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.slot != null && $Object.hasOwnProperty.call(message, "slot") && message.slot !== 0)
                    writer.uint32(8).uint32(message.slot);
                if (message.position != null && $Object.hasOwnProperty.call(message, "position") && message.position !== 0)
                    writer.uint32(16).uint32(message.position);
                if (message.tokens != null && $Object.hasOwnProperty.call(message, "tokens") && message.tokens !== 0)
                    writer.uint32(24).uint32(message.tokens);
                if (message.sample != null && $Object.hasOwnProperty.call(message, "sample") && message.sample !== false)
                    writer.uint32(32).bool(message.sample);
                if (message.draft != null && message.draft.length)
                    writer.uint32(42).uint32s(message.draft);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Slice.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.Slice();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.slot = value;
                            else
                                delete message.slot;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.position = value;
                            else
                                delete message.position;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.tokens = value;
                            else
                                delete message.tokens;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.sample = value;
                            else
                                delete message.sample;
                            continue;
                        }
                    case 5: {
                            if (wireType === 2) {
                                if (!(message.draft && message.draft.length))
                                    message.draft = [];
                                reader.uint32s(message.draft);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.draft && message.draft.length))
                                message.draft = [];
                            message.draft.push(reader.uint32());
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Slice;
        })();

        activation.LogitBias = (function() {

            const LogitBias = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            LogitBias.prototype.token = 0;
            LogitBias.prototype.bias = 0;

            LogitBias.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.token != null && $Object.hasOwnProperty.call(message, "token") && message.token !== 0)
                    writer.uint32(8).uint32(message.token);
                if (message.bias != null && $Object.hasOwnProperty.call(message, "bias") && !$Object.is(message.bias, 0))
                    writer.uint32(21).float(message.bias);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            LogitBias.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.LogitBias();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.token = value;
                            else
                                delete message.token;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 5)
                                break;
                            if (!$Object.is(value = reader.float(), 0))
                                message.bias = value;
                            else
                                delete message.bias;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return LogitBias;
        })();

        activation.Sampling = (function() {

            const Sampling = function (properties) {
                this.logitBias = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Sampling.prototype.temperature = 0;
            Sampling.prototype.topK = 0;
            Sampling.prototype.topP = 0;
            Sampling.prototype.minP = 0;
            Sampling.prototype.seed = 0;
            Sampling.prototype.repeatPenalty = 0;
            Sampling.prototype.frequencyPenalty = 0;
            Sampling.prototype.presencePenalty = 0;
            Sampling.prototype.ignoreEos = false;
            Sampling.prototype.logitBias = $util.emptyArray;
            Sampling.prototype.grammar = null;
            Sampling.prototype.probabilities = null;
            Sampling.prototype.pooling = 0;
            Sampling.prototype.draftTokens = null;

            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Sampling.prototype, "_probabilities", {
                get: $util.oneOfGetter($oneOfFields = ["probabilities"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Sampling.prototype, "_draftTokens", {
                get: $util.oneOfGetter($oneOfFields = ["draftTokens"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            Sampling.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.temperature != null && $Object.hasOwnProperty.call(message, "temperature") && !$Object.is(message.temperature, 0))
                    writer.uint32(9).double(message.temperature);
                if (message.topK != null && $Object.hasOwnProperty.call(message, "topK") && message.topK !== 0)
                    writer.uint32(16).uint32(message.topK);
                if (message.topP != null && $Object.hasOwnProperty.call(message, "topP") && !$Object.is(message.topP, 0))
                    writer.uint32(25).double(message.topP);
                if (message.minP != null && $Object.hasOwnProperty.call(message, "minP") && !$Object.is(message.minP, 0))
                    writer.uint32(33).double(message.minP);
                if (message.seed != null && $Object.hasOwnProperty.call(message, "seed") && message.seed !== 0)
                    writer.uint32(40).uint32(message.seed);
                if (message.repeatPenalty != null && $Object.hasOwnProperty.call(message, "repeatPenalty") && !$Object.is(message.repeatPenalty, 0))
                    writer.uint32(49).double(message.repeatPenalty);
                if (message.frequencyPenalty != null && $Object.hasOwnProperty.call(message, "frequencyPenalty") && !$Object.is(message.frequencyPenalty, 0))
                    writer.uint32(57).double(message.frequencyPenalty);
                if (message.presencePenalty != null && $Object.hasOwnProperty.call(message, "presencePenalty") && !$Object.is(message.presencePenalty, 0))
                    writer.uint32(65).double(message.presencePenalty);
                if (message.ignoreEos != null && $Object.hasOwnProperty.call(message, "ignoreEos") && message.ignoreEos !== false)
                    writer.uint32(72).bool(message.ignoreEos);
                if (message.logitBias != null && message.logitBias.length)
                    for (let i = 0; i < message.logitBias.length; ++i)
                        $root.ringagent.activation.LogitBias.encode(message.logitBias[i], writer.uint32(82).fork(), _depth + 1).ldelim();
                if (message.grammar != null && $Object.hasOwnProperty.call(message, "grammar"))
                    $root.ringagent.activation.Grammar.encode(message.grammar, writer.uint32(90).fork(), _depth + 1).ldelim();
                if (message.probabilities != null && $Object.hasOwnProperty.call(message, "probabilities"))
                    writer.uint32(96).uint32(message.probabilities);
                if (message.pooling != null && $Object.hasOwnProperty.call(message, "pooling") && message.pooling !== 0)
                    writer.uint32(104).int32(message.pooling);
                if (message.draftTokens != null && $Object.hasOwnProperty.call(message, "draftTokens"))
                    writer.uint32(112).uint32(message.draftTokens);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Sampling.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.Sampling();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 1)
                                break;
                            if (!$Object.is(value = reader.double(), 0))
                                message.temperature = value;
                            else
                                delete message.temperature;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.topK = value;
                            else
                                delete message.topK;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 1)
                                break;
                            if (!$Object.is(value = reader.double(), 0))
                                message.topP = value;
                            else
                                delete message.topP;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 1)
                                break;
                            if (!$Object.is(value = reader.double(), 0))
                                message.minP = value;
                            else
                                delete message.minP;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.seed = value;
                            else
                                delete message.seed;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 1)
                                break;
                            if (!$Object.is(value = reader.double(), 0))
                                message.repeatPenalty = value;
                            else
                                delete message.repeatPenalty;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 1)
                                break;
                            if (!$Object.is(value = reader.double(), 0))
                                message.frequencyPenalty = value;
                            else
                                delete message.frequencyPenalty;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 1)
                                break;
                            if (!$Object.is(value = reader.double(), 0))
                                message.presencePenalty = value;
                            else
                                delete message.presencePenalty;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.ignoreEos = value;
                            else
                                delete message.ignoreEos;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 2)
                                break;
                            if (!(message.logitBias && message.logitBias.length))
                                message.logitBias = [];
                            message.logitBias.push($root.ringagent.activation.LogitBias.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 11: {
                            if (wireType !== 2)
                                break;
                            message.grammar = $root.ringagent.activation.Grammar.decode(reader, reader.size(), $undefined, _depth + 1, message.grammar);
                            continue;
                        }
                    case 12: {
                            if (wireType !== 0)
                                break;
                            message.probabilities = reader.uint32();
                            message._probabilities = "probabilities";
                            continue;
                        }
                    case 13: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.pooling = value;
                            else
                                delete message.pooling;
                            continue;
                        }
                    case 14: {
                            if (wireType !== 0)
                                break;
                            message.draftTokens = reader.uint32();
                            message._draftTokens = "draftTokens";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Sampling;
        })();

        activation.Pooling = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "NO_POOLING"] = 0;
            values[valuesById[1] = "MEAN"] = 1;
            values[valuesById[2] = "FIRST"] = 2;
            values[valuesById[3] = "LAST"] = 3;
            return values;
        })();

        activation.Grammar = (function() {

            const Grammar = function (properties) {
                this.after = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Grammar.prototype.text = "";
            Grammar.prototype.after = $util.emptyArray;

            Grammar.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.text != null && $Object.hasOwnProperty.call(message, "text") && message.text !== "")
                    writer.uint32(10).string(message.text);
                if (message.after != null && message.after.length)
                    for (let i = 0; i < message.after.length; ++i)
                        writer.uint32(18).string(message.after[i]);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Grammar.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.Grammar();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.text = value;
                            else
                                delete message.text;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.after && message.after.length))
                                message.after = [];
                            message.after.push(reader.stringVerify());
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Grammar;
        })();

        activation.Probability = (function() {

            const Probability = function (properties) {
                this.alternatives = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Probability.prototype.logprob = 0;
            Probability.prototype.alternatives = $util.emptyArray;

            Probability.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.logprob != null && $Object.hasOwnProperty.call(message, "logprob") && !$Object.is(message.logprob, 0))
                    writer.uint32(13).float(message.logprob);
                if (message.alternatives != null && message.alternatives.length)
                    for (let i = 0; i < message.alternatives.length; ++i)
                        $root.ringagent.activation.Alternative.encode(message.alternatives[i], writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Probability.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.Probability();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 5)
                                break;
                            if (!$Object.is(value = reader.float(), 0))
                                message.logprob = value;
                            else
                                delete message.logprob;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.alternatives && message.alternatives.length))
                                message.alternatives = [];
                            message.alternatives.push($root.ringagent.activation.Alternative.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Probability;
        })();

        activation.Alternative = (function() {

            const Alternative = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Alternative.prototype.token = 0;
            Alternative.prototype.logprob = 0;

            Alternative.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.token != null && $Object.hasOwnProperty.call(message, "token") && message.token !== 0)
                    writer.uint32(8).uint32(message.token);
                if (message.logprob != null && $Object.hasOwnProperty.call(message, "logprob") && !$Object.is(message.logprob, 0))
                    writer.uint32(21).float(message.logprob);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Alternative.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.Alternative();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.token = value;
                            else
                                delete message.token;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 5)
                                break;
                            if (!$Object.is(value = reader.float(), 0))
                                message.logprob = value;
                            else
                                delete message.logprob;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Alternative;
        })();

        activation.Open = (function() {

            const Open = function (properties) {
                this.promptTokens = [];
                this.emittedTokens = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Open.prototype.slot = 0;
            Open.prototype.sequenceId = "";
            Open.prototype.sampling = null;
            Open.prototype.origin = "";
            Open.prototype.promptLength = 0;
            Open.prototype.promptTokens = $util.emptyArray;
            Open.prototype.emittedTokens = $util.emptyArray;
            Open.prototype.reuse = null;
            Open.prototype.headDelivers = false;

            Open.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.slot != null && $Object.hasOwnProperty.call(message, "slot") && message.slot !== 0)
                    writer.uint32(8).uint32(message.slot);
                if (message.sequenceId != null && $Object.hasOwnProperty.call(message, "sequenceId") && message.sequenceId !== "")
                    writer.uint32(18).string(message.sequenceId);
                if (message.sampling != null && $Object.hasOwnProperty.call(message, "sampling"))
                    $root.ringagent.activation.Sampling.encode(message.sampling, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.origin != null && $Object.hasOwnProperty.call(message, "origin") && message.origin !== "")
                    writer.uint32(34).string(message.origin);
                if (message.promptLength != null && $Object.hasOwnProperty.call(message, "promptLength") && message.promptLength !== 0)
                    writer.uint32(40).uint32(message.promptLength);
                if (message.promptTokens != null && message.promptTokens.length)
                    writer.uint32(50).uint32s(message.promptTokens);
                if (message.emittedTokens != null && message.emittedTokens.length)
                    writer.uint32(58).uint32s(message.emittedTokens);
                if (message.reuse != null && $Object.hasOwnProperty.call(message, "reuse"))
                    $root.ringagent.activation.Reuse.encode(message.reuse, writer.uint32(66).fork(), _depth + 1).ldelim();
                if (message.headDelivers != null && $Object.hasOwnProperty.call(message, "headDelivers") && message.headDelivers !== false)
                    writer.uint32(72).bool(message.headDelivers);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Open.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.Open();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.slot = value;
                            else
                                delete message.slot;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.sequenceId = value;
                            else
                                delete message.sequenceId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.sampling = $root.ringagent.activation.Sampling.decode(reader, reader.size(), $undefined, _depth + 1, message.sampling);
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.origin = value;
                            else
                                delete message.origin;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.promptLength = value;
                            else
                                delete message.promptLength;
                            continue;
                        }
                    case 6: {
                            if (wireType === 2) {
                                if (!(message.promptTokens && message.promptTokens.length))
                                    message.promptTokens = [];
                                reader.uint32s(message.promptTokens);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.promptTokens && message.promptTokens.length))
                                message.promptTokens = [];
                            message.promptTokens.push(reader.uint32());
                            continue;
                        }
                    case 7: {
                            if (wireType === 2) {
                                if (!(message.emittedTokens && message.emittedTokens.length))
                                    message.emittedTokens = [];
                                reader.uint32s(message.emittedTokens);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.emittedTokens && message.emittedTokens.length))
                                message.emittedTokens = [];
                            message.emittedTokens.push(reader.uint32());
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            message.reuse = $root.ringagent.activation.Reuse.decode(reader, reader.size(), $undefined, _depth + 1, message.reuse);
                            continue;
                        }
                    case 9: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.headDelivers = value;
                            else
                                delete message.headDelivers;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Open;
        })();

        activation.Reuse = (function() {

            const Reuse = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Reuse.prototype.slot = 0;
            Reuse.prototype.tokens = 0;

            Reuse.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.slot != null && $Object.hasOwnProperty.call(message, "slot") && message.slot !== 0)
                    writer.uint32(8).uint32(message.slot);
                if (message.tokens != null && $Object.hasOwnProperty.call(message, "tokens") && message.tokens !== 0)
                    writer.uint32(16).uint32(message.tokens);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Reuse.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.Reuse();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.slot = value;
                            else
                                delete message.slot;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.tokens = value;
                            else
                                delete message.tokens;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Reuse;
        })();

        activation.Close = (function() {

            const Close = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Close.prototype.slot = 0;
            Close.prototype.retain = false;

            Close.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.slot != null && $Object.hasOwnProperty.call(message, "slot") && message.slot !== 0)
                    writer.uint32(8).uint32(message.slot);
                if (message.retain != null && $Object.hasOwnProperty.call(message, "retain") && message.retain !== false)
                    writer.uint32(16).bool(message.retain);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Close.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.Close();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.slot = value;
                            else
                                delete message.slot;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.retain = value;
                            else
                                delete message.retain;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Close;
        })();

        activation.Move = (function() {

            const Move = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Move.prototype.slot = 0;
            Move.prototype.to = 0;

            Move.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.slot != null && $Object.hasOwnProperty.call(message, "slot") && message.slot !== 0)
                    writer.uint32(8).uint32(message.slot);
                if (message.to != null && $Object.hasOwnProperty.call(message, "to") && message.to !== 0)
                    writer.uint32(16).uint32(message.to);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Move.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.Move();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.slot = value;
                            else
                                delete message.slot;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.to = value;
                            else
                                delete message.to;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Move;
        })();

        activation.Operation = (function() {

            const Operation = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Operation.prototype.open = null;
            Operation.prototype.close = null;
            Operation.prototype.move = null;

            let $oneOfFields;

            $Object.defineProperty(Operation.prototype, "kind", {
                get: $util.oneOfGetter($oneOfFields = ["open", "close", "move"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            Operation.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.open != null && $Object.hasOwnProperty.call(message, "open"))
                    $root.ringagent.activation.Open.encode(message.open, writer.uint32(10).fork(), _depth + 1).ldelim();
                if (message.close != null && $Object.hasOwnProperty.call(message, "close"))
                    $root.ringagent.activation.Close.encode(message.close, writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.move != null && $Object.hasOwnProperty.call(message, "move"))
                    $root.ringagent.activation.Move.encode(message.move, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Operation.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.Operation();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            message.open = $root.ringagent.activation.Open.decode(reader, reader.size(), $undefined, _depth + 1, message.open);
                            message.kind = "open";
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.close = $root.ringagent.activation.Close.decode(reader, reader.size(), $undefined, _depth + 1, message.close);
                            message.kind = "close";
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.move = $root.ringagent.activation.Move.decode(reader, reader.size(), $undefined, _depth + 1, message.move);
                            message.kind = "move";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Operation;
        })();

        activation.Sampled = (function() {

            const Sampled = function (properties) {
                this.embedding = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Sampled.prototype.slot = 0;
            Sampled.prototype.sequenceId = "";
            Sampled.prototype.position = 0;
            Sampled.prototype.token = 0;
            Sampled.prototype.endOfGeneration = false;
            Sampled.prototype.probability = null;
            Sampled.prototype.embedding = $util.emptyArray;

            Sampled.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.slot != null && $Object.hasOwnProperty.call(message, "slot") && message.slot !== 0)
                    writer.uint32(8).uint32(message.slot);
                if (message.sequenceId != null && $Object.hasOwnProperty.call(message, "sequenceId") && message.sequenceId !== "")
                    writer.uint32(18).string(message.sequenceId);
                if (message.position != null && $Object.hasOwnProperty.call(message, "position") && message.position !== 0)
                    writer.uint32(24).uint32(message.position);
                if (message.token != null && $Object.hasOwnProperty.call(message, "token") && message.token !== 0)
                    writer.uint32(32).uint32(message.token);
                if (message.endOfGeneration != null && $Object.hasOwnProperty.call(message, "endOfGeneration") && message.endOfGeneration !== false)
                    writer.uint32(40).bool(message.endOfGeneration);
                if (message.probability != null && $Object.hasOwnProperty.call(message, "probability"))
                    $root.ringagent.activation.Probability.encode(message.probability, writer.uint32(50).fork(), _depth + 1).ldelim();
                if (message.embedding != null && message.embedding.length)
                    writer.uint32(58).floats(message.embedding);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Sampled.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.Sampled();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.slot = value;
                            else
                                delete message.slot;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.sequenceId = value;
                            else
                                delete message.sequenceId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.position = value;
                            else
                                delete message.position;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.token = value;
                            else
                                delete message.token;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.endOfGeneration = value;
                            else
                                delete message.endOfGeneration;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.probability = $root.ringagent.activation.Probability.decode(reader, reader.size(), $undefined, _depth + 1, message.probability);
                            continue;
                        }
                    case 7: {
                            if (wireType === 2) {
                                if (!(message.embedding && message.embedding.length))
                                    message.embedding = [];
                                reader.floats(message.embedding);
                                continue;
                            }
                            if (wireType !== 5)
                                break;
                            if (!(message.embedding && message.embedding.length))
                                message.embedding = [];
                            message.embedding.push(reader.float());
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Sampled;
        })();

        activation.Header = (function() {

            const Header = function (properties) {
                this.operations = [];
                this.slices = [];
                this.tokens = [];
                this.sampled = [];
                this.stageMicros = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Header.prototype.planId = "";
            Header.prototype.step = 0;
            Header.prototype.operations = $util.emptyArray;
            Header.prototype.slices = $util.emptyArray;
            Header.prototype.tokens = $util.emptyArray;
            Header.prototype.dtype = 0;
            Header.prototype.hiddenSize = 0;
            Header.prototype.sampled = $util.emptyArray;
            Header.prototype.computeMicros = 0;
            Header.prototype.stageMicros = $util.emptyArray;
            Header.prototype.goesOn = false;

            Header.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.planId != null && $Object.hasOwnProperty.call(message, "planId") && message.planId !== "")
                    writer.uint32(10).string(message.planId);
                if (message.step != null && $Object.hasOwnProperty.call(message, "step") && message.step !== 0)
                    writer.uint32(16).uint32(message.step);
                if (message.operations != null && message.operations.length)
                    for (let i = 0; i < message.operations.length; ++i)
                        $root.ringagent.activation.Operation.encode(message.operations[i], writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.slices != null && message.slices.length)
                    for (let i = 0; i < message.slices.length; ++i)
                        $root.ringagent.activation.Slice.encode(message.slices[i], writer.uint32(34).fork(), _depth + 1).ldelim();
                if (message.tokens != null && message.tokens.length)
                    writer.uint32(42).uint32s(message.tokens);
                if (message.dtype != null && $Object.hasOwnProperty.call(message, "dtype") && message.dtype !== 0)
                    writer.uint32(48).int32(message.dtype);
                if (message.hiddenSize != null && $Object.hasOwnProperty.call(message, "hiddenSize") && message.hiddenSize !== 0)
                    writer.uint32(56).uint32(message.hiddenSize);
                if (message.sampled != null && message.sampled.length)
                    for (let i = 0; i < message.sampled.length; ++i)
                        $root.ringagent.activation.Sampled.encode(message.sampled[i], writer.uint32(66).fork(), _depth + 1).ldelim();
                if (message.computeMicros != null && $Object.hasOwnProperty.call(message, "computeMicros") && message.computeMicros !== 0)
                    writer.uint32(72).uint32(message.computeMicros);
                if (message.stageMicros != null && message.stageMicros.length)
                    writer.uint32(82).uint32s(message.stageMicros);
                if (message.goesOn != null && $Object.hasOwnProperty.call(message, "goesOn") && message.goesOn !== false)
                    writer.uint32(88).bool(message.goesOn);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Header.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.activation.Header();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.planId = value;
                            else
                                delete message.planId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.step = value;
                            else
                                delete message.step;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if (!(message.operations && message.operations.length))
                                message.operations = [];
                            message.operations.push($root.ringagent.activation.Operation.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if (!(message.slices && message.slices.length))
                                message.slices = [];
                            message.slices.push($root.ringagent.activation.Slice.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 5: {
                            if (wireType === 2) {
                                if (!(message.tokens && message.tokens.length))
                                    message.tokens = [];
                                reader.uint32s(message.tokens);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.tokens && message.tokens.length))
                                message.tokens = [];
                            message.tokens.push(reader.uint32());
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.dtype = value;
                            else
                                delete message.dtype;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.hiddenSize = value;
                            else
                                delete message.hiddenSize;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            if (!(message.sampled && message.sampled.length))
                                message.sampled = [];
                            message.sampled.push($root.ringagent.activation.Sampled.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 9: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.computeMicros = value;
                            else
                                delete message.computeMicros;
                            continue;
                        }
                    case 10: {
                            if (wireType === 2) {
                                if (!(message.stageMicros && message.stageMicros.length))
                                    message.stageMicros = [];
                                reader.uint32s(message.stageMicros);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.stageMicros && message.stageMicros.length))
                                message.stageMicros = [];
                            message.stageMicros.push(reader.uint32());
                            continue;
                        }
                    case 11: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.goesOn = value;
                            else
                                delete message.goesOn;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Header;
        })();

        return activation;
    })();

    ringagent.control = (function() {

        const control = {};

        control.Term = (function() {

            const Term = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Term.prototype.counter = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Term.prototype.node = "";

            Term.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.counter != null && $Object.hasOwnProperty.call(message, "counter") && (typeof message.counter === "object" ? message.counter.low || message.counter.high : message.counter !== 0))
                    writer.uint32(8).uint64(message.counter);
                if (message.node != null && $Object.hasOwnProperty.call(message, "node") && message.node !== "")
                    writer.uint32(18).string(message.node);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Term.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Term();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.counter = value;
                            else
                                delete message.counter;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.node = value;
                            else
                                delete message.node;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Term;
        })();

        control.InstanceRequest = (function() {

            const InstanceRequest = function (properties) {
                this.nodeSettings = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            InstanceRequest.prototype.model = "";
            InstanceRequest.prototype.policy = "";
            InstanceRequest.prototype.nodes = null;
            InstanceRequest.prototype.contextTokens = null;
            InstanceRequest.prototype.slots = null;
            InstanceRequest.prototype.nodeSettings = $util.emptyArray;
            InstanceRequest.prototype.life = null;
            InstanceRequest.prototype.activations = "";
            InstanceRequest.prototype.cacheType = "";
            InstanceRequest.prototype.draft = "";

            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(InstanceRequest.prototype, "_nodes", {
                get: $util.oneOfGetter($oneOfFields = ["nodes"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(InstanceRequest.prototype, "_contextTokens", {
                get: $util.oneOfGetter($oneOfFields = ["contextTokens"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(InstanceRequest.prototype, "_slots", {
                get: $util.oneOfGetter($oneOfFields = ["slots"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            InstanceRequest.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.model != null && $Object.hasOwnProperty.call(message, "model") && message.model !== "")
                    writer.uint32(10).string(message.model);
                if (message.policy != null && $Object.hasOwnProperty.call(message, "policy") && message.policy !== "")
                    writer.uint32(18).string(message.policy);
                if (message.nodes != null && $Object.hasOwnProperty.call(message, "nodes"))
                    writer.uint32(24).uint32(message.nodes);
                if (message.contextTokens != null && $Object.hasOwnProperty.call(message, "contextTokens"))
                    writer.uint32(32).uint32(message.contextTokens);
                if (message.slots != null && $Object.hasOwnProperty.call(message, "slots"))
                    writer.uint32(40).uint32(message.slots);
                if (message.nodeSettings != null && message.nodeSettings.length)
                    for (let i = 0; i < message.nodeSettings.length; ++i)
                        $root.ringagent.control.NodeSettings.encode(message.nodeSettings[i], writer.uint32(50).fork(), _depth + 1).ldelim();
                if (message.life != null && $Object.hasOwnProperty.call(message, "life"))
                    $root.ringagent.control.Life.encode(message.life, writer.uint32(58).fork(), _depth + 1).ldelim();
                if (message.activations != null && $Object.hasOwnProperty.call(message, "activations") && message.activations !== "")
                    writer.uint32(66).string(message.activations);
                if (message.cacheType != null && $Object.hasOwnProperty.call(message, "cacheType") && message.cacheType !== "")
                    writer.uint32(74).string(message.cacheType);
                if (message.draft != null && $Object.hasOwnProperty.call(message, "draft") && message.draft !== "")
                    writer.uint32(82).string(message.draft);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            InstanceRequest.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.InstanceRequest();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.model = value;
                            else
                                delete message.model;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.policy = value;
                            else
                                delete message.policy;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            message.nodes = reader.uint32();
                            message._nodes = "nodes";
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            message.contextTokens = reader.uint32();
                            message._contextTokens = "contextTokens";
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            message.slots = reader.uint32();
                            message._slots = "slots";
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            if (!(message.nodeSettings && message.nodeSettings.length))
                                message.nodeSettings = [];
                            message.nodeSettings.push($root.ringagent.control.NodeSettings.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            message.life = $root.ringagent.control.Life.decode(reader, reader.size(), $undefined, _depth + 1, message.life);
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.activations = value;
                            else
                                delete message.activations;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.cacheType = value;
                            else
                                delete message.cacheType;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.draft = value;
                            else
                                delete message.draft;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return InstanceRequest;
        })();

        control.Life = (function() {

            const Life = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Life.prototype.pinned = false;
            Life.prototype.keepAliveMs = null;
            Life.prototype.returns = false;

            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Life.prototype, "_keepAliveMs", {
                get: $util.oneOfGetter($oneOfFields = ["keepAliveMs"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            Life.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.pinned != null && $Object.hasOwnProperty.call(message, "pinned") && message.pinned !== false)
                    writer.uint32(8).bool(message.pinned);
                if (message.keepAliveMs != null && $Object.hasOwnProperty.call(message, "keepAliveMs"))
                    writer.uint32(16).uint64(message.keepAliveMs);
                if (message.returns != null && $Object.hasOwnProperty.call(message, "returns") && message.returns !== false)
                    writer.uint32(24).bool(message.returns);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Life.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Life();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.pinned = value;
                            else
                                delete message.pinned;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            message.keepAliveMs = reader.uint64();
                            message._keepAliveMs = "keepAliveMs";
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.returns = value;
                            else
                                delete message.returns;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Life;
        })();

        control.NodeSettings = (function() {

            const NodeSettings = function (properties) {
                this.devices = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            NodeSettings.prototype.nodeId = "";
            NodeSettings.prototype.maxRamBytes = null;
            NodeSettings.prototype.reserveBytes = null;
            NodeSettings.prototype.devices = $util.emptyArray;
            NodeSettings.prototype.layersStart = 0;
            NodeSettings.prototype.layersEnd = 0;
            NodeSettings.prototype.precision = "";
            NodeSettings.prototype.keyValueCache = "";
            NodeSettings.prototype.seed = null;

            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(NodeSettings.prototype, "_maxRamBytes", {
                get: $util.oneOfGetter($oneOfFields = ["maxRamBytes"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(NodeSettings.prototype, "_reserveBytes", {
                get: $util.oneOfGetter($oneOfFields = ["reserveBytes"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(NodeSettings.prototype, "_seed", {
                get: $util.oneOfGetter($oneOfFields = ["seed"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            NodeSettings.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.nodeId != null && $Object.hasOwnProperty.call(message, "nodeId") && message.nodeId !== "")
                    writer.uint32(10).string(message.nodeId);
                if (message.maxRamBytes != null && $Object.hasOwnProperty.call(message, "maxRamBytes"))
                    writer.uint32(16).uint64(message.maxRamBytes);
                if (message.reserveBytes != null && $Object.hasOwnProperty.call(message, "reserveBytes"))
                    writer.uint32(24).uint64(message.reserveBytes);
                if (message.devices != null && message.devices.length)
                    for (let i = 0; i < message.devices.length; ++i)
                        writer.uint32(34).string(message.devices[i]);
                if (message.layersStart != null && $Object.hasOwnProperty.call(message, "layersStart") && message.layersStart !== 0)
                    writer.uint32(40).uint32(message.layersStart);
                if (message.layersEnd != null && $Object.hasOwnProperty.call(message, "layersEnd") && message.layersEnd !== 0)
                    writer.uint32(48).uint32(message.layersEnd);
                if (message.precision != null && $Object.hasOwnProperty.call(message, "precision") && message.precision !== "")
                    writer.uint32(58).string(message.precision);
                if (message.keyValueCache != null && $Object.hasOwnProperty.call(message, "keyValueCache") && message.keyValueCache !== "")
                    writer.uint32(66).string(message.keyValueCache);
                if (message.seed != null && $Object.hasOwnProperty.call(message, "seed"))
                    writer.uint32(72).uint32(message.seed);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            NodeSettings.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.NodeSettings();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.nodeId = value;
                            else
                                delete message.nodeId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            message.maxRamBytes = reader.uint64();
                            message._maxRamBytes = "maxRamBytes";
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            message.reserveBytes = reader.uint64();
                            message._reserveBytes = "reserveBytes";
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if (!(message.devices && message.devices.length))
                                message.devices = [];
                            message.devices.push(reader.stringVerify());
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.layersStart = value;
                            else
                                delete message.layersStart;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.layersEnd = value;
                            else
                                delete message.layersEnd;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.precision = value;
                            else
                                delete message.precision;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.keyValueCache = value;
                            else
                                delete message.keyValueCache;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 0)
                                break;
                            message.seed = reader.uint32();
                            message._seed = "seed";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return NodeSettings;
        })();

        control.StagePlan = (function() {

            const StagePlan = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            StagePlan.prototype.rank = 0;
            StagePlan.prototype.nodeId = "";
            StagePlan.prototype.start = 0;
            StagePlan.prototype.end = 0;
            StagePlan.prototype.backend = "";
            StagePlan.prototype.predictedBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            StagePlan.prototype.spill = null;
            StagePlan.prototype.precision = "";
            StagePlan.prototype.keyValueCache = "";

            StagePlan.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.rank != null && $Object.hasOwnProperty.call(message, "rank") && message.rank !== 0)
                    writer.uint32(8).uint32(message.rank);
                if (message.nodeId != null && $Object.hasOwnProperty.call(message, "nodeId") && message.nodeId !== "")
                    writer.uint32(18).string(message.nodeId);
                if (message.start != null && $Object.hasOwnProperty.call(message, "start") && message.start !== 0)
                    writer.uint32(24).uint32(message.start);
                if (message.end != null && $Object.hasOwnProperty.call(message, "end") && message.end !== 0)
                    writer.uint32(32).uint32(message.end);
                if (message.backend != null && $Object.hasOwnProperty.call(message, "backend") && message.backend !== "")
                    writer.uint32(42).string(message.backend);
                if (message.predictedBytes != null && $Object.hasOwnProperty.call(message, "predictedBytes") && (typeof message.predictedBytes === "object" ? message.predictedBytes.low || message.predictedBytes.high : message.predictedBytes !== 0))
                    writer.uint32(48).uint64(message.predictedBytes);
                if (message.spill != null && $Object.hasOwnProperty.call(message, "spill"))
                    $root.ringagent.control.Spill.encode(message.spill, writer.uint32(58).fork(), _depth + 1).ldelim();
                if (message.precision != null && $Object.hasOwnProperty.call(message, "precision") && message.precision !== "")
                    writer.uint32(66).string(message.precision);
                if (message.keyValueCache != null && $Object.hasOwnProperty.call(message, "keyValueCache") && message.keyValueCache !== "")
                    writer.uint32(74).string(message.keyValueCache);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            StagePlan.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.StagePlan();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.rank = value;
                            else
                                delete message.rank;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.nodeId = value;
                            else
                                delete message.nodeId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.start = value;
                            else
                                delete message.start;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.end = value;
                            else
                                delete message.end;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.backend = value;
                            else
                                delete message.backend;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.predictedBytes = value;
                            else
                                delete message.predictedBytes;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            message.spill = $root.ringagent.control.Spill.decode(reader, reader.size(), $undefined, _depth + 1, message.spill);
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.precision = value;
                            else
                                delete message.precision;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.keyValueCache = value;
                            else
                                delete message.keyValueCache;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return StagePlan;
        })();

        control.Spill = (function() {

            const Spill = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Spill.prototype.hostLayers = 0;
            Spill.prototype.hostBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            Spill.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.hostLayers != null && $Object.hasOwnProperty.call(message, "hostLayers") && message.hostLayers !== 0)
                    writer.uint32(8).uint32(message.hostLayers);
                if (message.hostBytes != null && $Object.hasOwnProperty.call(message, "hostBytes") && (typeof message.hostBytes === "object" ? message.hostBytes.low || message.hostBytes.high : message.hostBytes !== 0))
                    writer.uint32(16).uint64(message.hostBytes);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Spill.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Spill();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.hostLayers = value;
                            else
                                delete message.hostLayers;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.hostBytes = value;
                            else
                                delete message.hostBytes;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Spill;
        })();

        control.PlanNote = (function() {

            const PlanNote = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            PlanNote.prototype.nodeId = "";
            PlanNote.prototype.text = "";
            PlanNote.prototype.passing = false;

            PlanNote.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.nodeId != null && $Object.hasOwnProperty.call(message, "nodeId") && message.nodeId !== "")
                    writer.uint32(10).string(message.nodeId);
                if (message.text != null && $Object.hasOwnProperty.call(message, "text") && message.text !== "")
                    writer.uint32(18).string(message.text);
                if (message.passing != null && $Object.hasOwnProperty.call(message, "passing") && message.passing !== false)
                    writer.uint32(24).bool(message.passing);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            PlanNote.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.PlanNote();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.nodeId = value;
                            else
                                delete message.nodeId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.text = value;
                            else
                                delete message.text;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.passing = value;
                            else
                                delete message.passing;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return PlanNote;
        })();

        control.Plan = (function() {

            const Plan = function (properties) {
                this.stages = [];
                this.explanation = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Plan.prototype.planId = "";
            Plan.prototype.instanceId = "";
            Plan.prototype.model = null;
            Plan.prototype.stages = $util.emptyArray;
            Plan.prototype.contextTokens = 0;
            Plan.prototype.slots = 0;
            Plan.prototype.keyType = "";
            Plan.prototype.valueType = "";
            Plan.prototype.explanation = $util.emptyArray;
            Plan.prototype.predictedTokensPerSecond = null;
            Plan.prototype.activations = "";
            Plan.prototype.draft = null;

            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Plan.prototype, "_predictedTokensPerSecond", {
                get: $util.oneOfGetter($oneOfFields = ["predictedTokensPerSecond"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            Plan.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.planId != null && $Object.hasOwnProperty.call(message, "planId") && message.planId !== "")
                    writer.uint32(10).string(message.planId);
                if (message.instanceId != null && $Object.hasOwnProperty.call(message, "instanceId") && message.instanceId !== "")
                    writer.uint32(18).string(message.instanceId);
                if (message.model != null && $Object.hasOwnProperty.call(message, "model"))
                    $root.ringagent.gossip.HeldModel.encode(message.model, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.stages != null && message.stages.length)
                    for (let i = 0; i < message.stages.length; ++i)
                        $root.ringagent.control.StagePlan.encode(message.stages[i], writer.uint32(34).fork(), _depth + 1).ldelim();
                if (message.contextTokens != null && $Object.hasOwnProperty.call(message, "contextTokens") && message.contextTokens !== 0)
                    writer.uint32(40).uint32(message.contextTokens);
                if (message.slots != null && $Object.hasOwnProperty.call(message, "slots") && message.slots !== 0)
                    writer.uint32(48).uint32(message.slots);
                if (message.keyType != null && $Object.hasOwnProperty.call(message, "keyType") && message.keyType !== "")
                    writer.uint32(58).string(message.keyType);
                if (message.valueType != null && $Object.hasOwnProperty.call(message, "valueType") && message.valueType !== "")
                    writer.uint32(66).string(message.valueType);
                if (message.explanation != null && message.explanation.length)
                    for (let i = 0; i < message.explanation.length; ++i)
                        $root.ringagent.control.PlanNote.encode(message.explanation[i], writer.uint32(74).fork(), _depth + 1).ldelim();
                if (message.predictedTokensPerSecond != null && $Object.hasOwnProperty.call(message, "predictedTokensPerSecond"))
                    writer.uint32(81).double(message.predictedTokensPerSecond);
                if (message.activations != null && $Object.hasOwnProperty.call(message, "activations") && message.activations !== "")
                    writer.uint32(90).string(message.activations);
                if (message.draft != null && $Object.hasOwnProperty.call(message, "draft"))
                    $root.ringagent.control.Draft.encode(message.draft, writer.uint32(98).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Plan.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Plan();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.planId = value;
                            else
                                delete message.planId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.instanceId = value;
                            else
                                delete message.instanceId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.model = $root.ringagent.gossip.HeldModel.decode(reader, reader.size(), $undefined, _depth + 1, message.model);
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if (!(message.stages && message.stages.length))
                                message.stages = [];
                            message.stages.push($root.ringagent.control.StagePlan.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.contextTokens = value;
                            else
                                delete message.contextTokens;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.slots = value;
                            else
                                delete message.slots;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.keyType = value;
                            else
                                delete message.keyType;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.valueType = value;
                            else
                                delete message.valueType;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if (!(message.explanation && message.explanation.length))
                                message.explanation = [];
                            message.explanation.push($root.ringagent.control.PlanNote.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 10: {
                            if (wireType !== 1)
                                break;
                            message.predictedTokensPerSecond = reader.double();
                            message._predictedTokensPerSecond = "predictedTokensPerSecond";
                            continue;
                        }
                    case 11: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.activations = value;
                            else
                                delete message.activations;
                            continue;
                        }
                    case 12: {
                            if (wireType !== 2)
                                break;
                            message.draft = $root.ringagent.control.Draft.decode(reader, reader.size(), $undefined, _depth + 1, message.draft);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Plan;
        })();

        control.Draft = (function() {

            const Draft = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Draft.prototype.model = null;
            Draft.prototype.predictedBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            Draft.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.model != null && $Object.hasOwnProperty.call(message, "model"))
                    $root.ringagent.gossip.HeldModel.encode(message.model, writer.uint32(10).fork(), _depth + 1).ldelim();
                if (message.predictedBytes != null && $Object.hasOwnProperty.call(message, "predictedBytes") && (typeof message.predictedBytes === "object" ? message.predictedBytes.low || message.predictedBytes.high : message.predictedBytes !== 0))
                    writer.uint32(16).uint64(message.predictedBytes);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Draft.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Draft();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            message.model = $root.ringagent.gossip.HeldModel.decode(reader, reader.size(), $undefined, _depth + 1, message.model);
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.predictedBytes = value;
                            else
                                delete message.predictedBytes;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Draft;
        })();

        control.Instance = (function() {

            const Instance = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Instance.prototype.instanceId = "";
            Instance.prototype.request = null;
            Instance.prototype.state = "";
            Instance.prototype.plan = null;
            Instance.prototype.reason = "";
            Instance.prototype.serial = 0;
            Instance.prototype.code = "";

            Instance.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.instanceId != null && $Object.hasOwnProperty.call(message, "instanceId") && message.instanceId !== "")
                    writer.uint32(10).string(message.instanceId);
                if (message.request != null && $Object.hasOwnProperty.call(message, "request"))
                    $root.ringagent.control.InstanceRequest.encode(message.request, writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.state != null && $Object.hasOwnProperty.call(message, "state") && message.state !== "")
                    writer.uint32(26).string(message.state);
                if (message.plan != null && $Object.hasOwnProperty.call(message, "plan"))
                    $root.ringagent.control.Plan.encode(message.plan, writer.uint32(34).fork(), _depth + 1).ldelim();
                if (message.reason != null && $Object.hasOwnProperty.call(message, "reason") && message.reason !== "")
                    writer.uint32(42).string(message.reason);
                if (message.serial != null && $Object.hasOwnProperty.call(message, "serial") && message.serial !== 0)
                    writer.uint32(48).uint32(message.serial);
                if (message.code != null && $Object.hasOwnProperty.call(message, "code") && message.code !== "")
                    writer.uint32(58).string(message.code);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Instance.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Instance();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.instanceId = value;
                            else
                                delete message.instanceId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.request = $root.ringagent.control.InstanceRequest.decode(reader, reader.size(), $undefined, _depth + 1, message.request);
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.state = value;
                            else
                                delete message.state;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            message.plan = $root.ringagent.control.Plan.decode(reader, reader.size(), $undefined, _depth + 1, message.plan);
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.reason = value;
                            else
                                delete message.reason;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.serial = value;
                            else
                                delete message.serial;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.code = value;
                            else
                                delete message.code;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Instance;
        })();

        control.DesiredState = (function() {

            const DesiredState = function (properties) {
                this.instances = [];
                this.removed = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            DesiredState.prototype.version = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            DesiredState.prototype.instances = $util.emptyArray;
            DesiredState.prototype.removed = $util.emptyArray;

            DesiredState.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.version != null && $Object.hasOwnProperty.call(message, "version") && (typeof message.version === "object" ? message.version.low || message.version.high : message.version !== 0))
                    writer.uint32(8).uint64(message.version);
                if (message.instances != null && message.instances.length)
                    for (let i = 0; i < message.instances.length; ++i)
                        $root.ringagent.control.Instance.encode(message.instances[i], writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.removed != null && message.removed.length)
                    for (let i = 0; i < message.removed.length; ++i)
                        writer.uint32(26).string(message.removed[i]);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            DesiredState.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.DesiredState();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.version = value;
                            else
                                delete message.version;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.instances && message.instances.length))
                                message.instances = [];
                            message.instances.push($root.ringagent.control.Instance.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if (!(message.removed && message.removed.length))
                                message.removed = [];
                            message.removed.push(reader.stringVerify());
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return DesiredState;
        })();

        control.Problem = (function() {

            const Problem = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Problem.prototype.code = "";
            Problem.prototype.message = "";

            Problem.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.code != null && $Object.hasOwnProperty.call(message, "code") && message.code !== "")
                    writer.uint32(10).string(message.code);
                if (message.message != null && $Object.hasOwnProperty.call(message, "message") && message.message !== "")
                    writer.uint32(18).string(message.message);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Problem.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Problem();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.code = value;
                            else
                                delete message.code;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.message = value;
                            else
                                delete message.message;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Problem;
        })();

        control.DraftStatus = (function() {

            const DraftStatus = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            DraftStatus.prototype.state = "";
            DraftStatus.prototype.reason = "";
            DraftStatus.prototype.residentBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            DraftStatus.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.state != null && $Object.hasOwnProperty.call(message, "state") && message.state !== "")
                    writer.uint32(10).string(message.state);
                if (message.reason != null && $Object.hasOwnProperty.call(message, "reason") && message.reason !== "")
                    writer.uint32(18).string(message.reason);
                if (message.residentBytes != null && $Object.hasOwnProperty.call(message, "residentBytes") && (typeof message.residentBytes === "object" ? message.residentBytes.low || message.residentBytes.high : message.residentBytes !== 0))
                    writer.uint32(24).uint64(message.residentBytes);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            DraftStatus.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.DraftStatus();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.state = value;
                            else
                                delete message.state;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.reason = value;
                            else
                                delete message.reason;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.residentBytes = value;
                            else
                                delete message.residentBytes;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return DraftStatus;
        })();

        control.StageStatus = (function() {

            const StageStatus = function (properties) {
                this.stageMicros = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            StageStatus.prototype.planId = "";
            StageStatus.prototype.rank = 0;
            StageStatus.prototype.state = "";
            StageStatus.prototype.progress = 0;
            StageStatus.prototype.error = null;
            StageStatus.prototype.residentBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            StageStatus.prototype.fetchedBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            StageStatus.prototype.openRequests = null;
            StageStatus.prototype.takenRequests = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            StageStatus.prototype.tokenMicros = null;
            StageStatus.prototype.stageMicros = $util.emptyArray;
            StageStatus.prototype.buildMs = null;
            StageStatus.prototype.draft = null;

            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(StageStatus.prototype, "_openRequests", {
                get: $util.oneOfGetter($oneOfFields = ["openRequests"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(StageStatus.prototype, "_tokenMicros", {
                get: $util.oneOfGetter($oneOfFields = ["tokenMicros"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(StageStatus.prototype, "_buildMs", {
                get: $util.oneOfGetter($oneOfFields = ["buildMs"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            StageStatus.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.planId != null && $Object.hasOwnProperty.call(message, "planId") && message.planId !== "")
                    writer.uint32(10).string(message.planId);
                if (message.rank != null && $Object.hasOwnProperty.call(message, "rank") && message.rank !== 0)
                    writer.uint32(16).uint32(message.rank);
                if (message.state != null && $Object.hasOwnProperty.call(message, "state") && message.state !== "")
                    writer.uint32(26).string(message.state);
                if (message.progress != null && $Object.hasOwnProperty.call(message, "progress") && !$Object.is(message.progress, 0))
                    writer.uint32(33).double(message.progress);
                if (message.error != null && $Object.hasOwnProperty.call(message, "error"))
                    $root.ringagent.control.Problem.encode(message.error, writer.uint32(42).fork(), _depth + 1).ldelim();
                if (message.residentBytes != null && $Object.hasOwnProperty.call(message, "residentBytes") && (typeof message.residentBytes === "object" ? message.residentBytes.low || message.residentBytes.high : message.residentBytes !== 0))
                    writer.uint32(48).uint64(message.residentBytes);
                if (message.fetchedBytes != null && $Object.hasOwnProperty.call(message, "fetchedBytes") && (typeof message.fetchedBytes === "object" ? message.fetchedBytes.low || message.fetchedBytes.high : message.fetchedBytes !== 0))
                    writer.uint32(56).uint64(message.fetchedBytes);
                if (message.openRequests != null && $Object.hasOwnProperty.call(message, "openRequests"))
                    writer.uint32(64).uint32(message.openRequests);
                if (message.takenRequests != null && $Object.hasOwnProperty.call(message, "takenRequests") && (typeof message.takenRequests === "object" ? message.takenRequests.low || message.takenRequests.high : message.takenRequests !== 0))
                    writer.uint32(72).uint64(message.takenRequests);
                if (message.tokenMicros != null && $Object.hasOwnProperty.call(message, "tokenMicros"))
                    writer.uint32(80).uint32(message.tokenMicros);
                if (message.stageMicros != null && message.stageMicros.length)
                    writer.uint32(90).uint32s(message.stageMicros);
                if (message.buildMs != null && $Object.hasOwnProperty.call(message, "buildMs"))
                    writer.uint32(96).uint32(message.buildMs);
                if (message.draft != null && $Object.hasOwnProperty.call(message, "draft"))
                    $root.ringagent.control.DraftStatus.encode(message.draft, writer.uint32(106).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            StageStatus.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.StageStatus();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.planId = value;
                            else
                                delete message.planId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.rank = value;
                            else
                                delete message.rank;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.state = value;
                            else
                                delete message.state;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 1)
                                break;
                            if (!$Object.is(value = reader.double(), 0))
                                message.progress = value;
                            else
                                delete message.progress;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            message.error = $root.ringagent.control.Problem.decode(reader, reader.size(), $undefined, _depth + 1, message.error);
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.residentBytes = value;
                            else
                                delete message.residentBytes;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.fetchedBytes = value;
                            else
                                delete message.fetchedBytes;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 0)
                                break;
                            message.openRequests = reader.uint32();
                            message._openRequests = "openRequests";
                            continue;
                        }
                    case 9: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.takenRequests = value;
                            else
                                delete message.takenRequests;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 0)
                                break;
                            message.tokenMicros = reader.uint32();
                            message._tokenMicros = "tokenMicros";
                            continue;
                        }
                    case 11: {
                            if (wireType === 2) {
                                if (!(message.stageMicros && message.stageMicros.length))
                                    message.stageMicros = [];
                                reader.uint32s(message.stageMicros);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.stageMicros && message.stageMicros.length))
                                message.stageMicros = [];
                            message.stageMicros.push(reader.uint32());
                            continue;
                        }
                    case 12: {
                            if (wireType !== 0)
                                break;
                            message.buildMs = reader.uint32();
                            message._buildMs = "buildMs";
                            continue;
                        }
                    case 13: {
                            if (wireType !== 2)
                                break;
                            message.draft = $root.ringagent.control.DraftStatus.decode(reader, reader.size(), $undefined, _depth + 1, message.draft);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return StageStatus;
        })();

        control.Alive = (function() {

            const Alive = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Alive.prototype.incarnation = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Alive.prototype.counter = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Alive.prototype.term = null;

            Alive.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.incarnation != null && $Object.hasOwnProperty.call(message, "incarnation") && (typeof message.incarnation === "object" ? message.incarnation.low || message.incarnation.high : message.incarnation !== 0))
                    writer.uint32(8).uint64(message.incarnation);
                if (message.counter != null && $Object.hasOwnProperty.call(message, "counter") && (typeof message.counter === "object" ? message.counter.low || message.counter.high : message.counter !== 0))
                    writer.uint32(16).uint64(message.counter);
                if (message.term != null && $Object.hasOwnProperty.call(message, "term"))
                    $root.ringagent.control.Term.encode(message.term, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Alive.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Alive();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.incarnation = value;
                            else
                                delete message.incarnation;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.counter = value;
                            else
                                delete message.counter;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.term = $root.ringagent.control.Term.decode(reader, reader.size(), $undefined, _depth + 1, message.term);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Alive;
        })();

        control.RecordRequest = (function() {

            const RecordRequest = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            RecordRequest.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            RecordRequest.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.RecordRequest();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    reader.skipType(tag & 7, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return RecordRequest;
        })();

        control.Coordinator = (function() {

            const Coordinator = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Coordinator.prototype.term = null;
            Coordinator.prototype.serving = 0;
            Coordinator.prototype.desired = null;

            Coordinator.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.term != null && $Object.hasOwnProperty.call(message, "term"))
                    $root.ringagent.control.Term.encode(message.term, writer.uint32(10).fork(), _depth + 1).ldelim();
                if (message.serving != null && $Object.hasOwnProperty.call(message, "serving") && message.serving !== 0)
                    writer.uint32(16).uint32(message.serving);
                if (message.desired != null && $Object.hasOwnProperty.call(message, "desired"))
                    $root.ringagent.control.DesiredState.encode(message.desired, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Coordinator.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Coordinator();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            message.term = $root.ringagent.control.Term.decode(reader, reader.size(), $undefined, _depth + 1, message.term);
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.serving = value;
                            else
                                delete message.serving;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.desired = $root.ringagent.control.DesiredState.decode(reader, reader.size(), $undefined, _depth + 1, message.desired);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Coordinator;
        })();

        control.Stages = (function() {

            const Stages = function (properties) {
                this.statuses = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Stages.prototype.term = null;
            Stages.prototype.statuses = $util.emptyArray;
            Stages.prototype.remembered = null;

            Stages.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.term != null && $Object.hasOwnProperty.call(message, "term"))
                    $root.ringagent.control.Term.encode(message.term, writer.uint32(10).fork(), _depth + 1).ldelim();
                if (message.statuses != null && message.statuses.length)
                    for (let i = 0; i < message.statuses.length; ++i)
                        $root.ringagent.control.StageStatus.encode(message.statuses[i], writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.remembered != null && $Object.hasOwnProperty.call(message, "remembered"))
                    $root.ringagent.control.DesiredState.encode(message.remembered, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Stages.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Stages();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            message.term = $root.ringagent.control.Term.decode(reader, reader.size(), $undefined, _depth + 1, message.term);
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.statuses && message.statuses.length))
                                message.statuses = [];
                            message.statuses.push($root.ringagent.control.StageStatus.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.remembered = $root.ringagent.control.DesiredState.decode(reader, reader.size(), $undefined, _depth + 1, message.remembered);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Stages;
        })();

        control.Leave = (function() {

            const Leave = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Leave.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Leave.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Leave();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    reader.skipType(tag & 7, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Leave;
        })();

        control.Load = (function() {

            const Load = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Load.prototype.callId = "";
            Load.prototype.request = null;

            Load.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.callId != null && $Object.hasOwnProperty.call(message, "callId") && message.callId !== "")
                    writer.uint32(10).string(message.callId);
                if (message.request != null && $Object.hasOwnProperty.call(message, "request"))
                    $root.ringagent.control.InstanceRequest.encode(message.request, writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Load.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Load();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.callId = value;
                            else
                                delete message.callId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.request = $root.ringagent.control.InstanceRequest.decode(reader, reader.size(), $undefined, _depth + 1, message.request);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Load;
        })();

        control.Unload = (function() {

            const Unload = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Unload.prototype.callId = "";
            Unload.prototype.instanceId = "";

            Unload.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.callId != null && $Object.hasOwnProperty.call(message, "callId") && message.callId !== "")
                    writer.uint32(10).string(message.callId);
                if (message.instanceId != null && $Object.hasOwnProperty.call(message, "instanceId") && message.instanceId !== "")
                    writer.uint32(18).string(message.instanceId);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Unload.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Unload();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.callId = value;
                            else
                                delete message.callId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.instanceId = value;
                            else
                                delete message.instanceId;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Unload;
        })();

        control.Reply = (function() {

            const Reply = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Reply.prototype.callId = "";
            Reply.prototype.instanceId = "";
            Reply.prototype.error = null;

            Reply.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.callId != null && $Object.hasOwnProperty.call(message, "callId") && message.callId !== "")
                    writer.uint32(10).string(message.callId);
                if (message.instanceId != null && $Object.hasOwnProperty.call(message, "instanceId") && message.instanceId !== "")
                    writer.uint32(18).string(message.instanceId);
                if (message.error != null && $Object.hasOwnProperty.call(message, "error"))
                    $root.ringagent.control.Problem.encode(message.error, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Reply.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Reply();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.callId = value;
                            else
                                delete message.callId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.instanceId = value;
                            else
                                delete message.instanceId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.error = $root.ringagent.control.Problem.decode(reader, reader.size(), $undefined, _depth + 1, message.error);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Reply;
        })();

        control.Generate = (function() {

            const Generate = function (properties) {
                this.promptTokens = [];
                this.emittedTokens = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Generate.prototype.requestId = "";
            Generate.prototype.planId = "";
            Generate.prototype.promptTokens = $util.emptyArray;
            Generate.prototype.emittedTokens = $util.emptyArray;
            Generate.prototype.sampling = null;
            Generate.prototype.maxTokens = 0;
            Generate.prototype.client = "";

            Generate.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(10).string(message.requestId);
                if (message.planId != null && $Object.hasOwnProperty.call(message, "planId") && message.planId !== "")
                    writer.uint32(18).string(message.planId);
                if (message.promptTokens != null && message.promptTokens.length)
                    writer.uint32(26).uint32s(message.promptTokens);
                if (message.emittedTokens != null && message.emittedTokens.length)
                    writer.uint32(34).uint32s(message.emittedTokens);
                if (message.sampling != null && $Object.hasOwnProperty.call(message, "sampling"))
                    $root.ringagent.activation.Sampling.encode(message.sampling, writer.uint32(42).fork(), _depth + 1).ldelim();
                if (message.maxTokens != null && $Object.hasOwnProperty.call(message, "maxTokens") && message.maxTokens !== 0)
                    writer.uint32(48).uint32(message.maxTokens);
                if (message.client != null && $Object.hasOwnProperty.call(message, "client") && message.client !== "")
                    writer.uint32(58).string(message.client);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Generate.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Generate();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.planId = value;
                            else
                                delete message.planId;
                            continue;
                        }
                    case 3: {
                            if (wireType === 2) {
                                if (!(message.promptTokens && message.promptTokens.length))
                                    message.promptTokens = [];
                                reader.uint32s(message.promptTokens);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.promptTokens && message.promptTokens.length))
                                message.promptTokens = [];
                            message.promptTokens.push(reader.uint32());
                            continue;
                        }
                    case 4: {
                            if (wireType === 2) {
                                if (!(message.emittedTokens && message.emittedTokens.length))
                                    message.emittedTokens = [];
                                reader.uint32s(message.emittedTokens);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.emittedTokens && message.emittedTokens.length))
                                message.emittedTokens = [];
                            message.emittedTokens.push(reader.uint32());
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            message.sampling = $root.ringagent.activation.Sampling.decode(reader, reader.size(), $undefined, _depth + 1, message.sampling);
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.maxTokens = value;
                            else
                                delete message.maxTokens;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.client = value;
                            else
                                delete message.client;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Generate;
        })();

        control.Cancel = (function() {

            const Cancel = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Cancel.prototype.requestId = "";

            Cancel.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(10).string(message.requestId);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Cancel.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Cancel();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Cancel;
        })();

        control.Token = (function() {

            const Token = function (properties) {
                this.embedding = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Token.prototype.requestId = "";
            Token.prototype.planId = "";
            Token.prototype.index = 0;
            Token.prototype.token = 0;
            Token.prototype.endOfGeneration = false;
            Token.prototype.probability = null;
            Token.prototype.reusedTokens = 0;
            Token.prototype.embedding = $util.emptyArray;

            Token.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(10).string(message.requestId);
                if (message.planId != null && $Object.hasOwnProperty.call(message, "planId") && message.planId !== "")
                    writer.uint32(18).string(message.planId);
                if (message.index != null && $Object.hasOwnProperty.call(message, "index") && message.index !== 0)
                    writer.uint32(24).uint32(message.index);
                if (message.token != null && $Object.hasOwnProperty.call(message, "token") && message.token !== 0)
                    writer.uint32(32).uint32(message.token);
                if (message.endOfGeneration != null && $Object.hasOwnProperty.call(message, "endOfGeneration") && message.endOfGeneration !== false)
                    writer.uint32(40).bool(message.endOfGeneration);
                if (message.probability != null && $Object.hasOwnProperty.call(message, "probability"))
                    $root.ringagent.activation.Probability.encode(message.probability, writer.uint32(50).fork(), _depth + 1).ldelim();
                if (message.reusedTokens != null && $Object.hasOwnProperty.call(message, "reusedTokens") && message.reusedTokens !== 0)
                    writer.uint32(56).uint32(message.reusedTokens);
                if (message.embedding != null && message.embedding.length)
                    writer.uint32(66).floats(message.embedding);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Token.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Token();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.planId = value;
                            else
                                delete message.planId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.index = value;
                            else
                                delete message.index;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.token = value;
                            else
                                delete message.token;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.endOfGeneration = value;
                            else
                                delete message.endOfGeneration;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.probability = $root.ringagent.activation.Probability.decode(reader, reader.size(), $undefined, _depth + 1, message.probability);
                            continue;
                        }
                    case 7: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.reusedTokens = value;
                            else
                                delete message.reusedTokens;
                            continue;
                        }
                    case 8: {
                            if (wireType === 2) {
                                if (!(message.embedding && message.embedding.length))
                                    message.embedding = [];
                                reader.floats(message.embedding);
                                continue;
                            }
                            if (wireType !== 5)
                                break;
                            if (!(message.embedding && message.embedding.length))
                                message.embedding = [];
                            message.embedding.push(reader.float());
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Token;
        })();

        control.Finished = (function() {

            const Finished = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Finished.prototype.requestId = "";
            Finished.prototype.planId = "";
            Finished.prototype.reason = "";
            Finished.prototype.tokens = 0;

            Finished.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(10).string(message.requestId);
                if (message.planId != null && $Object.hasOwnProperty.call(message, "planId") && message.planId !== "")
                    writer.uint32(18).string(message.planId);
                if (message.reason != null && $Object.hasOwnProperty.call(message, "reason") && message.reason !== "")
                    writer.uint32(26).string(message.reason);
                if (message.tokens != null && $Object.hasOwnProperty.call(message, "tokens") && message.tokens !== 0)
                    writer.uint32(32).uint32(message.tokens);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Finished.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Finished();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.planId = value;
                            else
                                delete message.planId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.reason = value;
                            else
                                delete message.reason;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.tokens = value;
                            else
                                delete message.tokens;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Finished;
        })();

        control.Refused = (function() {

            const Refused = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Refused.prototype.requestId = "";
            Refused.prototype.planId = "";
            Refused.prototype.code = "";
            Refused.prototype.message = "";

            Refused.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(10).string(message.requestId);
                if (message.planId != null && $Object.hasOwnProperty.call(message, "planId") && message.planId !== "")
                    writer.uint32(18).string(message.planId);
                if (message.code != null && $Object.hasOwnProperty.call(message, "code") && message.code !== "")
                    writer.uint32(26).string(message.code);
                if (message.message != null && $Object.hasOwnProperty.call(message, "message") && message.message !== "")
                    writer.uint32(34).string(message.message);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Refused.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Refused();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.planId = value;
                            else
                                delete message.planId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.code = value;
                            else
                                delete message.code;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.message = value;
                            else
                                delete message.message;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Refused;
        })();

        control.Ping = (function() {

            const Ping = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Ping.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Ping.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Ping();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    reader.skipType(tag & 7, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Ping;
        })();

        control.Pong = (function() {

            const Pong = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Pong.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Pong.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Pong();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    reader.skipType(tag & 7, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Pong;
        })();

        control.Introduction = (function() {

            const Introduction = function (properties) {
                this.peers = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Introduction.prototype.peers = $util.emptyArray;

            Introduction.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.peers != null && message.peers.length)
                    for (let i = 0; i < message.peers.length; ++i)
                        $root.ringagent.control.IntroducedPeer.encode(message.peers[i], writer.uint32(10).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Introduction.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Introduction();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if (!(message.peers && message.peers.length))
                                message.peers = [];
                            message.peers.push($root.ringagent.control.IntroducedPeer.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Introduction;
        })();

        control.IntroducedPeer = (function() {

            const IntroducedPeer = function (properties) {
                this.addresses = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            IntroducedPeer.prototype.nodeId = "";
            IntroducedPeer.prototype.addresses = $util.emptyArray;

            IntroducedPeer.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.nodeId != null && $Object.hasOwnProperty.call(message, "nodeId") && message.nodeId !== "")
                    writer.uint32(10).string(message.nodeId);
                if (message.addresses != null && message.addresses.length)
                    for (let i = 0; i < message.addresses.length; ++i)
                        writer.uint32(18).string(message.addresses[i]);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            IntroducedPeer.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.IntroducedPeer();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.nodeId = value;
                            else
                                delete message.nodeId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.addresses && message.addresses.length))
                                message.addresses = [];
                            message.addresses.push(reader.stringVerify());
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return IntroducedPeer;
        })();

        control.TraceRequest = (function() {

            const TraceRequest = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            TraceRequest.prototype.callId = "";
            TraceRequest.prototype.request = "";

            TraceRequest.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.callId != null && $Object.hasOwnProperty.call(message, "callId") && message.callId !== "")
                    writer.uint32(10).string(message.callId);
                if (message.request != null && $Object.hasOwnProperty.call(message, "request") && message.request !== "")
                    writer.uint32(18).string(message.request);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            TraceRequest.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.TraceRequest();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.callId = value;
                            else
                                delete message.callId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.request = value;
                            else
                                delete message.request;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return TraceRequest;
        })();

        control.TraceReply = (function() {

            const TraceReply = function (properties) {
                this.traces = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            TraceReply.prototype.callId = "";
            TraceReply.prototype.traces = $util.emptyArray;

            TraceReply.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.callId != null && $Object.hasOwnProperty.call(message, "callId") && message.callId !== "")
                    writer.uint32(10).string(message.callId);
                if (message.traces != null && message.traces.length)
                    for (let i = 0; i < message.traces.length; ++i)
                        $root.ringagent.control.Trace.encode(message.traces[i], writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            TraceReply.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.TraceReply();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.callId = value;
                            else
                                delete message.callId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.traces && message.traces.length))
                                message.traces = [];
                            message.traces.push($root.ringagent.control.Trace.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return TraceReply;
        })();

        control.Trace = (function() {

            const Trace = function (properties) {
                this.nodeIds = [];
                this.steps = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Trace.prototype.requestId = "";
            Trace.prototype.agoMs = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Trace.prototype.model = "";
            Trace.prototype.nodeIds = $util.emptyArray;
            Trace.prototype.wireMicros = 0;
            Trace.prototype.steps = $util.emptyArray;

            Trace.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(10).string(message.requestId);
                if (message.agoMs != null && $Object.hasOwnProperty.call(message, "agoMs") && (typeof message.agoMs === "object" ? message.agoMs.low || message.agoMs.high : message.agoMs !== 0))
                    writer.uint32(16).uint64(message.agoMs);
                if (message.model != null && $Object.hasOwnProperty.call(message, "model") && message.model !== "")
                    writer.uint32(26).string(message.model);
                if (message.nodeIds != null && message.nodeIds.length)
                    for (let i = 0; i < message.nodeIds.length; ++i)
                        writer.uint32(34).string(message.nodeIds[i]);
                if (message.wireMicros != null && $Object.hasOwnProperty.call(message, "wireMicros") && message.wireMicros !== 0)
                    writer.uint32(40).uint32(message.wireMicros);
                if (message.steps != null && message.steps.length)
                    for (let i = 0; i < message.steps.length; ++i)
                        $root.ringagent.control.TracedStep.encode(message.steps[i], writer.uint32(50).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Trace.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.Trace();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.agoMs = value;
                            else
                                delete message.agoMs;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.model = value;
                            else
                                delete message.model;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if (!(message.nodeIds && message.nodeIds.length))
                                message.nodeIds = [];
                            message.nodeIds.push(reader.stringVerify());
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.wireMicros = value;
                            else
                                delete message.wireMicros;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            if (!(message.steps && message.steps.length))
                                message.steps = [];
                            message.steps.push($root.ringagent.control.TracedStep.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Trace;
        })();

        control.TracedStep = (function() {

            const TracedStep = function (properties) {
                this.stageMicros = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            TracedStep.prototype.sentAfterMicros = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            TracedStep.prototype.tokens = 0;
            TracedStep.prototype.otherTokens = 0;
            TracedStep.prototype.ahead = 0;
            TracedStep.prototype.stageMicros = $util.emptyArray;
            TracedStep.prototype.restMicros = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            TracedStep.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.sentAfterMicros != null && $Object.hasOwnProperty.call(message, "sentAfterMicros") && (typeof message.sentAfterMicros === "object" ? message.sentAfterMicros.low || message.sentAfterMicros.high : message.sentAfterMicros !== 0))
                    writer.uint32(8).uint64(message.sentAfterMicros);
                if (message.tokens != null && $Object.hasOwnProperty.call(message, "tokens") && message.tokens !== 0)
                    writer.uint32(16).uint32(message.tokens);
                if (message.otherTokens != null && $Object.hasOwnProperty.call(message, "otherTokens") && message.otherTokens !== 0)
                    writer.uint32(24).uint32(message.otherTokens);
                if (message.ahead != null && $Object.hasOwnProperty.call(message, "ahead") && message.ahead !== 0)
                    writer.uint32(32).uint32(message.ahead);
                if (message.stageMicros != null && message.stageMicros.length)
                    writer.uint32(42).uint32s(message.stageMicros);
                if (message.restMicros != null && $Object.hasOwnProperty.call(message, "restMicros") && (typeof message.restMicros === "object" ? message.restMicros.low || message.restMicros.high : message.restMicros !== 0))
                    writer.uint32(48).uint64(message.restMicros);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            TracedStep.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.TracedStep();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.sentAfterMicros = value;
                            else
                                delete message.sentAfterMicros;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.tokens = value;
                            else
                                delete message.tokens;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.otherTokens = value;
                            else
                                delete message.otherTokens;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.ahead = value;
                            else
                                delete message.ahead;
                            continue;
                        }
                    case 5: {
                            if (wireType === 2) {
                                if (!(message.stageMicros && message.stageMicros.length))
                                    message.stageMicros = [];
                                reader.uint32s(message.stageMicros);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.stageMicros && message.stageMicros.length))
                                message.stageMicros = [];
                            message.stageMicros.push(reader.uint32());
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.restMicros = value;
                            else
                                delete message.restMicros;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return TracedStep;
        })();

        control.ControlMessage = (function() {

            const ControlMessage = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            ControlMessage.prototype.alive = null;
            ControlMessage.prototype.record = null;
            ControlMessage.prototype.recordRequest = null;
            ControlMessage.prototype.coordinator = null;
            ControlMessage.prototype.stages = null;
            ControlMessage.prototype.leave = null;
            ControlMessage.prototype.load = null;
            ControlMessage.prototype.unload = null;
            ControlMessage.prototype.reply = null;
            ControlMessage.prototype.generate = null;
            ControlMessage.prototype.cancel = null;
            ControlMessage.prototype.token = null;
            ControlMessage.prototype.finished = null;
            ControlMessage.prototype.refused = null;
            ControlMessage.prototype.ping = null;
            ControlMessage.prototype.pong = null;
            ControlMessage.prototype.introduction = null;
            ControlMessage.prototype.traceRequest = null;
            ControlMessage.prototype.traceReply = null;

            let $oneOfFields;

            $Object.defineProperty(ControlMessage.prototype, "kind", {
                get: $util.oneOfGetter($oneOfFields = ["alive", "record", "recordRequest", "coordinator", "stages", "leave", "load", "unload", "reply", "generate", "cancel", "token", "finished", "refused", "ping", "pong", "introduction", "traceRequest", "traceReply"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            ControlMessage.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.alive != null && $Object.hasOwnProperty.call(message, "alive"))
                    $root.ringagent.control.Alive.encode(message.alive, writer.uint32(10).fork(), _depth + 1).ldelim();
                if (message.record != null && $Object.hasOwnProperty.call(message, "record"))
                    $root.ringagent.gossip.NodeRecord.encode(message.record, writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.recordRequest != null && $Object.hasOwnProperty.call(message, "recordRequest"))
                    $root.ringagent.control.RecordRequest.encode(message.recordRequest, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.coordinator != null && $Object.hasOwnProperty.call(message, "coordinator"))
                    $root.ringagent.control.Coordinator.encode(message.coordinator, writer.uint32(34).fork(), _depth + 1).ldelim();
                if (message.stages != null && $Object.hasOwnProperty.call(message, "stages"))
                    $root.ringagent.control.Stages.encode(message.stages, writer.uint32(42).fork(), _depth + 1).ldelim();
                if (message.leave != null && $Object.hasOwnProperty.call(message, "leave"))
                    $root.ringagent.control.Leave.encode(message.leave, writer.uint32(50).fork(), _depth + 1).ldelim();
                if (message.load != null && $Object.hasOwnProperty.call(message, "load"))
                    $root.ringagent.control.Load.encode(message.load, writer.uint32(58).fork(), _depth + 1).ldelim();
                if (message.unload != null && $Object.hasOwnProperty.call(message, "unload"))
                    $root.ringagent.control.Unload.encode(message.unload, writer.uint32(66).fork(), _depth + 1).ldelim();
                if (message.reply != null && $Object.hasOwnProperty.call(message, "reply"))
                    $root.ringagent.control.Reply.encode(message.reply, writer.uint32(74).fork(), _depth + 1).ldelim();
                if (message.generate != null && $Object.hasOwnProperty.call(message, "generate"))
                    $root.ringagent.control.Generate.encode(message.generate, writer.uint32(82).fork(), _depth + 1).ldelim();
                if (message.cancel != null && $Object.hasOwnProperty.call(message, "cancel"))
                    $root.ringagent.control.Cancel.encode(message.cancel, writer.uint32(90).fork(), _depth + 1).ldelim();
                if (message.token != null && $Object.hasOwnProperty.call(message, "token"))
                    $root.ringagent.control.Token.encode(message.token, writer.uint32(98).fork(), _depth + 1).ldelim();
                if (message.finished != null && $Object.hasOwnProperty.call(message, "finished"))
                    $root.ringagent.control.Finished.encode(message.finished, writer.uint32(106).fork(), _depth + 1).ldelim();
                if (message.refused != null && $Object.hasOwnProperty.call(message, "refused"))
                    $root.ringagent.control.Refused.encode(message.refused, writer.uint32(114).fork(), _depth + 1).ldelim();
                if (message.ping != null && $Object.hasOwnProperty.call(message, "ping"))
                    $root.ringagent.control.Ping.encode(message.ping, writer.uint32(122).fork(), _depth + 1).ldelim();
                if (message.pong != null && $Object.hasOwnProperty.call(message, "pong"))
                    $root.ringagent.control.Pong.encode(message.pong, writer.uint32(130).fork(), _depth + 1).ldelim();
                if (message.introduction != null && $Object.hasOwnProperty.call(message, "introduction"))
                    $root.ringagent.control.Introduction.encode(message.introduction, writer.uint32(138).fork(), _depth + 1).ldelim();
                if (message.traceRequest != null && $Object.hasOwnProperty.call(message, "traceRequest"))
                    $root.ringagent.control.TraceRequest.encode(message.traceRequest, writer.uint32(146).fork(), _depth + 1).ldelim();
                if (message.traceReply != null && $Object.hasOwnProperty.call(message, "traceReply"))
                    $root.ringagent.control.TraceReply.encode(message.traceReply, writer.uint32(154).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            ControlMessage.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.control.ControlMessage();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            message.alive = $root.ringagent.control.Alive.decode(reader, reader.size(), $undefined, _depth + 1, message.alive);
                            message.kind = "alive";
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.record = $root.ringagent.gossip.NodeRecord.decode(reader, reader.size(), $undefined, _depth + 1, message.record);
                            message.kind = "record";
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.recordRequest = $root.ringagent.control.RecordRequest.decode(reader, reader.size(), $undefined, _depth + 1, message.recordRequest);
                            message.kind = "recordRequest";
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            message.coordinator = $root.ringagent.control.Coordinator.decode(reader, reader.size(), $undefined, _depth + 1, message.coordinator);
                            message.kind = "coordinator";
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            message.stages = $root.ringagent.control.Stages.decode(reader, reader.size(), $undefined, _depth + 1, message.stages);
                            message.kind = "stages";
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.leave = $root.ringagent.control.Leave.decode(reader, reader.size(), $undefined, _depth + 1, message.leave);
                            message.kind = "leave";
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            message.load = $root.ringagent.control.Load.decode(reader, reader.size(), $undefined, _depth + 1, message.load);
                            message.kind = "load";
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            message.unload = $root.ringagent.control.Unload.decode(reader, reader.size(), $undefined, _depth + 1, message.unload);
                            message.kind = "unload";
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            message.reply = $root.ringagent.control.Reply.decode(reader, reader.size(), $undefined, _depth + 1, message.reply);
                            message.kind = "reply";
                            continue;
                        }
                    case 10: {
                            if (wireType !== 2)
                                break;
                            message.generate = $root.ringagent.control.Generate.decode(reader, reader.size(), $undefined, _depth + 1, message.generate);
                            message.kind = "generate";
                            continue;
                        }
                    case 11: {
                            if (wireType !== 2)
                                break;
                            message.cancel = $root.ringagent.control.Cancel.decode(reader, reader.size(), $undefined, _depth + 1, message.cancel);
                            message.kind = "cancel";
                            continue;
                        }
                    case 12: {
                            if (wireType !== 2)
                                break;
                            message.token = $root.ringagent.control.Token.decode(reader, reader.size(), $undefined, _depth + 1, message.token);
                            message.kind = "token";
                            continue;
                        }
                    case 13: {
                            if (wireType !== 2)
                                break;
                            message.finished = $root.ringagent.control.Finished.decode(reader, reader.size(), $undefined, _depth + 1, message.finished);
                            message.kind = "finished";
                            continue;
                        }
                    case 14: {
                            if (wireType !== 2)
                                break;
                            message.refused = $root.ringagent.control.Refused.decode(reader, reader.size(), $undefined, _depth + 1, message.refused);
                            message.kind = "refused";
                            continue;
                        }
                    case 15: {
                            if (wireType !== 2)
                                break;
                            message.ping = $root.ringagent.control.Ping.decode(reader, reader.size(), $undefined, _depth + 1, message.ping);
                            message.kind = "ping";
                            continue;
                        }
                    case 16: {
                            if (wireType !== 2)
                                break;
                            message.pong = $root.ringagent.control.Pong.decode(reader, reader.size(), $undefined, _depth + 1, message.pong);
                            message.kind = "pong";
                            continue;
                        }
                    case 17: {
                            if (wireType !== 2)
                                break;
                            message.introduction = $root.ringagent.control.Introduction.decode(reader, reader.size(), $undefined, _depth + 1, message.introduction);
                            message.kind = "introduction";
                            continue;
                        }
                    case 18: {
                            if (wireType !== 2)
                                break;
                            message.traceRequest = $root.ringagent.control.TraceRequest.decode(reader, reader.size(), $undefined, _depth + 1, message.traceRequest);
                            message.kind = "traceRequest";
                            continue;
                        }
                    case 19: {
                            if (wireType !== 2)
                                break;
                            message.traceReply = $root.ringagent.control.TraceReply.decode(reader, reader.size(), $undefined, _depth + 1, message.traceReply);
                            message.kind = "traceReply";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return ControlMessage;
        })();

        return control;
    })();

    ringagent.gossip = (function() {

        const gossip = {};

        gossip.Device = (function() {

            const Device = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Device.prototype.name = "";
            Device.prototype.description = "";
            Device.prototype.backend = "";
            Device.prototype.memoryTotalBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Device.prototype.memoryFreeBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Device.prototype.unified = false;
            Device.prototype.gflops = null;
            Device.prototype.memoryBandwidthBytesPerSecond = null;

            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Device.prototype, "_gflops", {
                get: $util.oneOfGetter($oneOfFields = ["gflops"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Device.prototype, "_memoryBandwidthBytesPerSecond", {
                get: $util.oneOfGetter($oneOfFields = ["memoryBandwidthBytesPerSecond"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            Device.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.name != null && $Object.hasOwnProperty.call(message, "name") && message.name !== "")
                    writer.uint32(10).string(message.name);
                if (message.description != null && $Object.hasOwnProperty.call(message, "description") && message.description !== "")
                    writer.uint32(18).string(message.description);
                if (message.backend != null && $Object.hasOwnProperty.call(message, "backend") && message.backend !== "")
                    writer.uint32(26).string(message.backend);
                if (message.memoryTotalBytes != null && $Object.hasOwnProperty.call(message, "memoryTotalBytes") && (typeof message.memoryTotalBytes === "object" ? message.memoryTotalBytes.low || message.memoryTotalBytes.high : message.memoryTotalBytes !== 0))
                    writer.uint32(32).uint64(message.memoryTotalBytes);
                if (message.memoryFreeBytes != null && $Object.hasOwnProperty.call(message, "memoryFreeBytes") && (typeof message.memoryFreeBytes === "object" ? message.memoryFreeBytes.low || message.memoryFreeBytes.high : message.memoryFreeBytes !== 0))
                    writer.uint32(40).uint64(message.memoryFreeBytes);
                if (message.unified != null && $Object.hasOwnProperty.call(message, "unified") && message.unified !== false)
                    writer.uint32(48).bool(message.unified);
                if (message.gflops != null && $Object.hasOwnProperty.call(message, "gflops"))
                    writer.uint32(57).double(message.gflops);
                if (message.memoryBandwidthBytesPerSecond != null && $Object.hasOwnProperty.call(message, "memoryBandwidthBytesPerSecond"))
                    writer.uint32(65).double(message.memoryBandwidthBytesPerSecond);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Device.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.gossip.Device();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.name = value;
                            else
                                delete message.name;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.description = value;
                            else
                                delete message.description;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.backend = value;
                            else
                                delete message.backend;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.memoryTotalBytes = value;
                            else
                                delete message.memoryTotalBytes;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.memoryFreeBytes = value;
                            else
                                delete message.memoryFreeBytes;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.unified = value;
                            else
                                delete message.unified;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 1)
                                break;
                            message.gflops = reader.double();
                            message._gflops = "gflops";
                            continue;
                        }
                    case 8: {
                            if (wireType !== 1)
                                break;
                            message.memoryBandwidthBytesPerSecond = reader.double();
                            message._memoryBandwidthBytesPerSecond = "memoryBandwidthBytesPerSecond";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Device;
        })();

        gossip.Link = (function() {

            const Link = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Link.prototype.nodeId = "";
            Link.prototype.roundTripMicros = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Link.prototype.bytesPerSecond = null;

            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Link.prototype, "_bytesPerSecond", {
                get: $util.oneOfGetter($oneOfFields = ["bytesPerSecond"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            Link.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.nodeId != null && $Object.hasOwnProperty.call(message, "nodeId") && message.nodeId !== "")
                    writer.uint32(10).string(message.nodeId);
                if (message.roundTripMicros != null && $Object.hasOwnProperty.call(message, "roundTripMicros") && (typeof message.roundTripMicros === "object" ? message.roundTripMicros.low || message.roundTripMicros.high : message.roundTripMicros !== 0))
                    writer.uint32(16).uint64(message.roundTripMicros);
                if (message.bytesPerSecond != null && $Object.hasOwnProperty.call(message, "bytesPerSecond"))
                    writer.uint32(25).double(message.bytesPerSecond);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Link.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.gossip.Link();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.nodeId = value;
                            else
                                delete message.nodeId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.roundTripMicros = value;
                            else
                                delete message.roundTripMicros;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 1)
                                break;
                            message.bytesPerSecond = reader.double();
                            message._bytesPerSecond = "bytesPerSecond";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Link;
        })();

        gossip.HeldModel = (function() {

            const HeldModel = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            HeldModel.prototype.digest = $util.newBuffer([]);
            HeldModel.prototype.sizeBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            HeldModel.prototype.name = "";
            HeldModel.prototype.architecture = "";
            HeldModel.prototype.layers = 0;
            HeldModel.prototype.source = null;
            HeldModel.prototype.trainedContext = 0;
            HeldModel.prototype.checkpoint = false;
            HeldModel.prototype.parameters = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            HeldModel.prototype.weights = "";

            HeldModel.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.digest != null && $Object.hasOwnProperty.call(message, "digest") && message.digest.length)
                    writer.uint32(10).bytes(message.digest);
                if (message.sizeBytes != null && $Object.hasOwnProperty.call(message, "sizeBytes") && (typeof message.sizeBytes === "object" ? message.sizeBytes.low || message.sizeBytes.high : message.sizeBytes !== 0))
                    writer.uint32(16).uint64(message.sizeBytes);
                if (message.name != null && $Object.hasOwnProperty.call(message, "name") && message.name !== "")
                    writer.uint32(26).string(message.name);
                if (message.architecture != null && $Object.hasOwnProperty.call(message, "architecture") && message.architecture !== "")
                    writer.uint32(34).string(message.architecture);
                if (message.layers != null && $Object.hasOwnProperty.call(message, "layers") && message.layers !== 0)
                    writer.uint32(40).uint32(message.layers);
                if (message.source != null && $Object.hasOwnProperty.call(message, "source"))
                    $root.ringagent.gossip.ModelSource.encode(message.source, writer.uint32(50).fork(), _depth + 1).ldelim();
                if (message.trainedContext != null && $Object.hasOwnProperty.call(message, "trainedContext") && message.trainedContext !== 0)
                    writer.uint32(56).uint32(message.trainedContext);
                if (message.checkpoint != null && $Object.hasOwnProperty.call(message, "checkpoint") && message.checkpoint !== false)
                    writer.uint32(64).bool(message.checkpoint);
                if (message.parameters != null && $Object.hasOwnProperty.call(message, "parameters") && (typeof message.parameters === "object" ? message.parameters.low || message.parameters.high : message.parameters !== 0))
                    writer.uint32(72).uint64(message.parameters);
                if (message.weights != null && $Object.hasOwnProperty.call(message, "weights") && message.weights !== "")
                    writer.uint32(82).string(message.weights);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            HeldModel.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.gossip.HeldModel();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.digest = value;
                            else
                                delete message.digest;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.sizeBytes = value;
                            else
                                delete message.sizeBytes;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.name = value;
                            else
                                delete message.name;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.architecture = value;
                            else
                                delete message.architecture;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.layers = value;
                            else
                                delete message.layers;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.source = $root.ringagent.gossip.ModelSource.decode(reader, reader.size(), $undefined, _depth + 1, message.source);
                            continue;
                        }
                    case 7: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.trainedContext = value;
                            else
                                delete message.trainedContext;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.checkpoint = value;
                            else
                                delete message.checkpoint;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.parameters = value;
                            else
                                delete message.parameters;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.weights = value;
                            else
                                delete message.weights;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return HeldModel;
        })();

        gossip.ModelSource = (function() {

            const ModelSource = function (properties) {
                this.files = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            ModelSource.prototype.repository = "";
            ModelSource.prototype.revision = "";
            ModelSource.prototype.files = $util.emptyArray;

            ModelSource.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.repository != null && $Object.hasOwnProperty.call(message, "repository") && message.repository !== "")
                    writer.uint32(10).string(message.repository);
                if (message.revision != null && $Object.hasOwnProperty.call(message, "revision") && message.revision !== "")
                    writer.uint32(18).string(message.revision);
                if (message.files != null && message.files.length)
                    for (let i = 0; i < message.files.length; ++i)
                        $root.ringagent.gossip.ModelFile.encode(message.files[i], writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            ModelSource.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.gossip.ModelSource();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.repository = value;
                            else
                                delete message.repository;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.revision = value;
                            else
                                delete message.revision;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if (!(message.files && message.files.length))
                                message.files = [];
                            message.files.push($root.ringagent.gossip.ModelFile.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return ModelSource;
        })();

        gossip.ModelFile = (function() {

            const ModelFile = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            ModelFile.prototype.location = "";
            ModelFile.prototype.sizeBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            ModelFile.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.location != null && $Object.hasOwnProperty.call(message, "location") && message.location !== "")
                    writer.uint32(10).string(message.location);
                if (message.sizeBytes != null && $Object.hasOwnProperty.call(message, "sizeBytes") && (typeof message.sizeBytes === "object" ? message.sizeBytes.low || message.sizeBytes.high : message.sizeBytes !== 0))
                    writer.uint32(16).uint64(message.sizeBytes);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            ModelFile.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.gossip.ModelFile();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.location = value;
                            else
                                delete message.location;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.sizeBytes = value;
                            else
                                delete message.sizeBytes;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return ModelFile;
        })();

        gossip.HeldShard = (function() {

            const HeldShard = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            HeldShard.prototype.modelDigest = $util.newBuffer([]);
            HeldShard.prototype.start = 0;
            HeldShard.prototype.end = 0;
            HeldShard.prototype.head = false;
            HeldShard.prototype.tail = false;

            HeldShard.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.modelDigest != null && $Object.hasOwnProperty.call(message, "modelDigest") && message.modelDigest.length)
                    writer.uint32(10).bytes(message.modelDigest);
                if (message.start != null && $Object.hasOwnProperty.call(message, "start") && message.start !== 0)
                    writer.uint32(16).uint32(message.start);
                if (message.end != null && $Object.hasOwnProperty.call(message, "end") && message.end !== 0)
                    writer.uint32(24).uint32(message.end);
                if (message.head != null && $Object.hasOwnProperty.call(message, "head") && message.head !== false)
                    writer.uint32(32).bool(message.head);
                if (message.tail != null && $Object.hasOwnProperty.call(message, "tail") && message.tail !== false)
                    writer.uint32(40).bool(message.tail);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            HeldShard.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.gossip.HeldShard();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.modelDigest = value;
                            else
                                delete message.modelDigest;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.start = value;
                            else
                                delete message.start;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.end = value;
                            else
                                delete message.end;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.head = value;
                            else
                                delete message.head;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.tail = value;
                            else
                                delete message.tail;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return HeldShard;
        })();

        gossip.Capabilities = (function() {

            const Capabilities = function (properties) {
                this.devices = [];
                this.backends = [];
                this.models = [];
                this.shards = [];
                this.devicePreference = [];
                this.links = [];
                this.hints = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Capabilities.prototype.agentVersion = "";
            Capabilities.prototype.protocolMin = 0;
            Capabilities.prototype.protocolMax = 0;
            Capabilities.prototype.hostname = "";
            Capabilities.prototype.os = "";
            Capabilities.prototype.arch = "";
            Capabilities.prototype.cores = 0;
            Capabilities.prototype.ramTotalBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Capabilities.prototype.ramAvailableBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Capabilities.prototype.ramLimitBytes = null;
            Capabilities.prototype.machineId = "";
            Capabilities.prototype.diskFreeBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Capabilities.prototype.devices = $util.emptyArray;
            Capabilities.prototype.backends = $util.emptyArray;
            Capabilities.prototype.gflops = null;
            Capabilities.prototype.memoryBandwidthBytesPerSecond = null;
            Capabilities.prototype.models = $util.emptyArray;
            Capabilities.prototype.shards = $util.emptyArray;
            Capabilities.prototype.apiAddress = "";
            Capabilities.prototype.devicePreference = $util.emptyArray;
            Capabilities.prototype.deviceLimitBytes = null;
            Capabilities.prototype.links = $util.emptyArray;
            Capabilities.prototype.hints = $util.emptyArray;
            Capabilities.prototype.temporary = false;
            Capabilities.prototype.storeRoomBytes = null;

            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Capabilities.prototype, "_ramLimitBytes", {
                get: $util.oneOfGetter($oneOfFields = ["ramLimitBytes"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Capabilities.prototype, "_gflops", {
                get: $util.oneOfGetter($oneOfFields = ["gflops"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Capabilities.prototype, "_memoryBandwidthBytesPerSecond", {
                get: $util.oneOfGetter($oneOfFields = ["memoryBandwidthBytesPerSecond"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Capabilities.prototype, "_deviceLimitBytes", {
                get: $util.oneOfGetter($oneOfFields = ["deviceLimitBytes"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(Capabilities.prototype, "_storeRoomBytes", {
                get: $util.oneOfGetter($oneOfFields = ["storeRoomBytes"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            Capabilities.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.agentVersion != null && $Object.hasOwnProperty.call(message, "agentVersion") && message.agentVersion !== "")
                    writer.uint32(10).string(message.agentVersion);
                if (message.protocolMin != null && $Object.hasOwnProperty.call(message, "protocolMin") && message.protocolMin !== 0)
                    writer.uint32(16).uint32(message.protocolMin);
                if (message.protocolMax != null && $Object.hasOwnProperty.call(message, "protocolMax") && message.protocolMax !== 0)
                    writer.uint32(24).uint32(message.protocolMax);
                if (message.hostname != null && $Object.hasOwnProperty.call(message, "hostname") && message.hostname !== "")
                    writer.uint32(34).string(message.hostname);
                if (message.os != null && $Object.hasOwnProperty.call(message, "os") && message.os !== "")
                    writer.uint32(42).string(message.os);
                if (message.arch != null && $Object.hasOwnProperty.call(message, "arch") && message.arch !== "")
                    writer.uint32(50).string(message.arch);
                if (message.cores != null && $Object.hasOwnProperty.call(message, "cores") && message.cores !== 0)
                    writer.uint32(56).uint32(message.cores);
                if (message.ramTotalBytes != null && $Object.hasOwnProperty.call(message, "ramTotalBytes") && (typeof message.ramTotalBytes === "object" ? message.ramTotalBytes.low || message.ramTotalBytes.high : message.ramTotalBytes !== 0))
                    writer.uint32(64).uint64(message.ramTotalBytes);
                if (message.ramAvailableBytes != null && $Object.hasOwnProperty.call(message, "ramAvailableBytes") && (typeof message.ramAvailableBytes === "object" ? message.ramAvailableBytes.low || message.ramAvailableBytes.high : message.ramAvailableBytes !== 0))
                    writer.uint32(72).uint64(message.ramAvailableBytes);
                if (message.ramLimitBytes != null && $Object.hasOwnProperty.call(message, "ramLimitBytes"))
                    writer.uint32(80).uint64(message.ramLimitBytes);
                if (message.machineId != null && $Object.hasOwnProperty.call(message, "machineId") && message.machineId !== "")
                    writer.uint32(90).string(message.machineId);
                if (message.diskFreeBytes != null && $Object.hasOwnProperty.call(message, "diskFreeBytes") && (typeof message.diskFreeBytes === "object" ? message.diskFreeBytes.low || message.diskFreeBytes.high : message.diskFreeBytes !== 0))
                    writer.uint32(96).uint64(message.diskFreeBytes);
                if (message.devices != null && message.devices.length)
                    for (let i = 0; i < message.devices.length; ++i)
                        $root.ringagent.gossip.Device.encode(message.devices[i], writer.uint32(106).fork(), _depth + 1).ldelim();
                if (message.backends != null && message.backends.length)
                    for (let i = 0; i < message.backends.length; ++i)
                        writer.uint32(114).string(message.backends[i]);
                if (message.gflops != null && $Object.hasOwnProperty.call(message, "gflops"))
                    writer.uint32(121).double(message.gflops);
                if (message.memoryBandwidthBytesPerSecond != null && $Object.hasOwnProperty.call(message, "memoryBandwidthBytesPerSecond"))
                    writer.uint32(129).double(message.memoryBandwidthBytesPerSecond);
                if (message.models != null && message.models.length)
                    for (let i = 0; i < message.models.length; ++i)
                        $root.ringagent.gossip.HeldModel.encode(message.models[i], writer.uint32(138).fork(), _depth + 1).ldelim();
                if (message.shards != null && message.shards.length)
                    for (let i = 0; i < message.shards.length; ++i)
                        $root.ringagent.gossip.HeldShard.encode(message.shards[i], writer.uint32(146).fork(), _depth + 1).ldelim();
                if (message.apiAddress != null && $Object.hasOwnProperty.call(message, "apiAddress") && message.apiAddress !== "")
                    writer.uint32(154).string(message.apiAddress);
                if (message.devicePreference != null && message.devicePreference.length)
                    for (let i = 0; i < message.devicePreference.length; ++i)
                        writer.uint32(162).string(message.devicePreference[i]);
                if (message.deviceLimitBytes != null && $Object.hasOwnProperty.call(message, "deviceLimitBytes"))
                    writer.uint32(168).uint64(message.deviceLimitBytes);
                if (message.links != null && message.links.length)
                    for (let i = 0; i < message.links.length; ++i)
                        $root.ringagent.gossip.Link.encode(message.links[i], writer.uint32(178).fork(), _depth + 1).ldelim();
                if (message.hints != null && message.hints.length)
                    for (let i = 0; i < message.hints.length; ++i)
                        writer.uint32(186).string(message.hints[i]);
                if (message.temporary != null && $Object.hasOwnProperty.call(message, "temporary") && message.temporary !== false)
                    writer.uint32(192).bool(message.temporary);
                if (message.storeRoomBytes != null && $Object.hasOwnProperty.call(message, "storeRoomBytes"))
                    writer.uint32(200).uint64(message.storeRoomBytes);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Capabilities.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.gossip.Capabilities();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.agentVersion = value;
                            else
                                delete message.agentVersion;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.protocolMin = value;
                            else
                                delete message.protocolMin;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.protocolMax = value;
                            else
                                delete message.protocolMax;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.hostname = value;
                            else
                                delete message.hostname;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.os = value;
                            else
                                delete message.os;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.arch = value;
                            else
                                delete message.arch;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.cores = value;
                            else
                                delete message.cores;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.ramTotalBytes = value;
                            else
                                delete message.ramTotalBytes;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.ramAvailableBytes = value;
                            else
                                delete message.ramAvailableBytes;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 0)
                                break;
                            message.ramLimitBytes = reader.uint64();
                            message._ramLimitBytes = "ramLimitBytes";
                            continue;
                        }
                    case 11: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.machineId = value;
                            else
                                delete message.machineId;
                            continue;
                        }
                    case 12: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.diskFreeBytes = value;
                            else
                                delete message.diskFreeBytes;
                            continue;
                        }
                    case 13: {
                            if (wireType !== 2)
                                break;
                            if (!(message.devices && message.devices.length))
                                message.devices = [];
                            message.devices.push($root.ringagent.gossip.Device.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 14: {
                            if (wireType !== 2)
                                break;
                            if (!(message.backends && message.backends.length))
                                message.backends = [];
                            message.backends.push(reader.stringVerify());
                            continue;
                        }
                    case 15: {
                            if (wireType !== 1)
                                break;
                            message.gflops = reader.double();
                            message._gflops = "gflops";
                            continue;
                        }
                    case 16: {
                            if (wireType !== 1)
                                break;
                            message.memoryBandwidthBytesPerSecond = reader.double();
                            message._memoryBandwidthBytesPerSecond = "memoryBandwidthBytesPerSecond";
                            continue;
                        }
                    case 17: {
                            if (wireType !== 2)
                                break;
                            if (!(message.models && message.models.length))
                                message.models = [];
                            message.models.push($root.ringagent.gossip.HeldModel.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 18: {
                            if (wireType !== 2)
                                break;
                            if (!(message.shards && message.shards.length))
                                message.shards = [];
                            message.shards.push($root.ringagent.gossip.HeldShard.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 19: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.apiAddress = value;
                            else
                                delete message.apiAddress;
                            continue;
                        }
                    case 20: {
                            if (wireType !== 2)
                                break;
                            if (!(message.devicePreference && message.devicePreference.length))
                                message.devicePreference = [];
                            message.devicePreference.push(reader.stringVerify());
                            continue;
                        }
                    case 21: {
                            if (wireType !== 0)
                                break;
                            message.deviceLimitBytes = reader.uint64();
                            message._deviceLimitBytes = "deviceLimitBytes";
                            continue;
                        }
                    case 22: {
                            if (wireType !== 2)
                                break;
                            if (!(message.links && message.links.length))
                                message.links = [];
                            message.links.push($root.ringagent.gossip.Link.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 23: {
                            if (wireType !== 2)
                                break;
                            if (!(message.hints && message.hints.length))
                                message.hints = [];
                            message.hints.push(reader.stringVerify());
                            continue;
                        }
                    case 24: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.temporary = value;
                            else
                                delete message.temporary;
                            continue;
                        }
                    case 25: {
                            if (wireType !== 0)
                                break;
                            message.storeRoomBytes = reader.uint64();
                            message._storeRoomBytes = "storeRoomBytes";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Capabilities;
        })();

        gossip.NodeRecord = (function() {

            const NodeRecord = function (properties) {
                this.addresses = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            NodeRecord.prototype.nodeId = "";
            NodeRecord.prototype.incarnation = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            NodeRecord.prototype.counter = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            NodeRecord.prototype.nonce = "";
            NodeRecord.prototype.addresses = $util.emptyArray;
            NodeRecord.prototype.capabilities = null;

            NodeRecord.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.nodeId != null && $Object.hasOwnProperty.call(message, "nodeId") && message.nodeId !== "")
                    writer.uint32(10).string(message.nodeId);
                if (message.incarnation != null && $Object.hasOwnProperty.call(message, "incarnation") && (typeof message.incarnation === "object" ? message.incarnation.low || message.incarnation.high : message.incarnation !== 0))
                    writer.uint32(16).uint64(message.incarnation);
                if (message.counter != null && $Object.hasOwnProperty.call(message, "counter") && (typeof message.counter === "object" ? message.counter.low || message.counter.high : message.counter !== 0))
                    writer.uint32(24).uint64(message.counter);
                if (message.nonce != null && $Object.hasOwnProperty.call(message, "nonce") && message.nonce !== "")
                    writer.uint32(34).string(message.nonce);
                if (message.addresses != null && message.addresses.length)
                    for (let i = 0; i < message.addresses.length; ++i)
                        writer.uint32(42).string(message.addresses[i]);
                if (message.capabilities != null && $Object.hasOwnProperty.call(message, "capabilities"))
                    $root.ringagent.gossip.Capabilities.encode(message.capabilities, writer.uint32(50).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            NodeRecord.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.gossip.NodeRecord();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.nodeId = value;
                            else
                                delete message.nodeId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.incarnation = value;
                            else
                                delete message.incarnation;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.counter = value;
                            else
                                delete message.counter;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.nonce = value;
                            else
                                delete message.nonce;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if (!(message.addresses && message.addresses.length))
                                message.addresses = [];
                            message.addresses.push(reader.stringVerify());
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.capabilities = $root.ringagent.gossip.Capabilities.decode(reader, reader.size(), $undefined, _depth + 1, message.capabilities);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return NodeRecord;
        })();

        gossip.Hello = (function() {

            const Hello = function (properties) {
                this.addresses = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Hello.prototype.clusterHash = $util.newBuffer([]);
            Hello.prototype.agentVersion = "";
            Hello.prototype.protocolMin = 0;
            Hello.prototype.protocolMax = 0;
            Hello.prototype.nodeId = "";
            Hello.prototype.incarnation = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Hello.prototype.nonce = "";
            Hello.prototype.addresses = $util.emptyArray;
            Hello.prototype.bulk = false;

            Hello.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.clusterHash != null && $Object.hasOwnProperty.call(message, "clusterHash") && message.clusterHash.length)
                    writer.uint32(10).bytes(message.clusterHash);
                if (message.agentVersion != null && $Object.hasOwnProperty.call(message, "agentVersion") && message.agentVersion !== "")
                    writer.uint32(18).string(message.agentVersion);
                if (message.protocolMin != null && $Object.hasOwnProperty.call(message, "protocolMin") && message.protocolMin !== 0)
                    writer.uint32(24).uint32(message.protocolMin);
                if (message.protocolMax != null && $Object.hasOwnProperty.call(message, "protocolMax") && message.protocolMax !== 0)
                    writer.uint32(32).uint32(message.protocolMax);
                if (message.nodeId != null && $Object.hasOwnProperty.call(message, "nodeId") && message.nodeId !== "")
                    writer.uint32(42).string(message.nodeId);
                if (message.incarnation != null && $Object.hasOwnProperty.call(message, "incarnation") && (typeof message.incarnation === "object" ? message.incarnation.low || message.incarnation.high : message.incarnation !== 0))
                    writer.uint32(48).uint64(message.incarnation);
                if (message.nonce != null && $Object.hasOwnProperty.call(message, "nonce") && message.nonce !== "")
                    writer.uint32(58).string(message.nonce);
                if (message.addresses != null && message.addresses.length)
                    for (let i = 0; i < message.addresses.length; ++i)
                        writer.uint32(66).string(message.addresses[i]);
                if (message.bulk != null && $Object.hasOwnProperty.call(message, "bulk") && message.bulk !== false)
                    writer.uint32(72).bool(message.bulk);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Hello.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.gossip.Hello();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.clusterHash = value;
                            else
                                delete message.clusterHash;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.agentVersion = value;
                            else
                                delete message.agentVersion;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.protocolMin = value;
                            else
                                delete message.protocolMin;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.protocolMax = value;
                            else
                                delete message.protocolMax;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.nodeId = value;
                            else
                                delete message.nodeId;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.incarnation = value;
                            else
                                delete message.incarnation;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.nonce = value;
                            else
                                delete message.nonce;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            if (!(message.addresses && message.addresses.length))
                                message.addresses = [];
                            message.addresses.push(reader.stringVerify());
                            continue;
                        }
                    case 9: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.bulk = value;
                            else
                                delete message.bulk;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Hello;
        })();

        return gossip;
    })();

    ringagent.runner = (function() {

        const runner = {};

        runner.Embedding = (function() {

            const Embedding = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Embedding.prototype.file = "";
            Embedding.prototype.offset = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Embedding.prototype.ggmlType = 0;
            Embedding.prototype.rows = 0;

            Embedding.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.file != null && $Object.hasOwnProperty.call(message, "file") && message.file !== "")
                    writer.uint32(10).string(message.file);
                if (message.offset != null && $Object.hasOwnProperty.call(message, "offset") && (typeof message.offset === "object" ? message.offset.low || message.offset.high : message.offset !== 0))
                    writer.uint32(16).uint64(message.offset);
                if (message.ggmlType != null && $Object.hasOwnProperty.call(message, "ggmlType") && message.ggmlType !== 0)
                    writer.uint32(24).uint32(message.ggmlType);
                if (message.rows != null && $Object.hasOwnProperty.call(message, "rows") && message.rows !== 0)
                    writer.uint32(32).uint32(message.rows);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Embedding.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Embedding();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.file = value;
                            else
                                delete message.file;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.offset = value;
                            else
                                delete message.offset;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.ggmlType = value;
                            else
                                delete message.ggmlType;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.rows = value;
                            else
                                delete message.rows;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Embedding;
        })();

        runner.LoadStage = (function() {

            const LoadStage = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            LoadStage.prototype.role = "";
            LoadStage.prototype.stageFile = "";
            LoadStage.prototype.embedding = null;
            LoadStage.prototype.backend = "";
            LoadStage.prototype.threads = 0;
            LoadStage.prototype.contextTokens = 0;
            LoadStage.prototype.slots = 0;
            LoadStage.prototype.keyType = "";
            LoadStage.prototype.valueType = "";
            LoadStage.prototype.batchTokens = 0;
            LoadStage.prototype.deviceLayers = null;
            LoadStage.prototype.keyValueCache = "";
            LoadStage.prototype.activations = "";

            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(LoadStage.prototype, "_deviceLayers", {
                get: $util.oneOfGetter($oneOfFields = ["deviceLayers"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            LoadStage.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.role != null && $Object.hasOwnProperty.call(message, "role") && message.role !== "")
                    writer.uint32(10).string(message.role);
                if (message.stageFile != null && $Object.hasOwnProperty.call(message, "stageFile") && message.stageFile !== "")
                    writer.uint32(18).string(message.stageFile);
                if (message.embedding != null && $Object.hasOwnProperty.call(message, "embedding"))
                    $root.ringagent.runner.Embedding.encode(message.embedding, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.backend != null && $Object.hasOwnProperty.call(message, "backend") && message.backend !== "")
                    writer.uint32(34).string(message.backend);
                if (message.threads != null && $Object.hasOwnProperty.call(message, "threads") && message.threads !== 0)
                    writer.uint32(40).uint32(message.threads);
                if (message.contextTokens != null && $Object.hasOwnProperty.call(message, "contextTokens") && message.contextTokens !== 0)
                    writer.uint32(48).uint32(message.contextTokens);
                if (message.slots != null && $Object.hasOwnProperty.call(message, "slots") && message.slots !== 0)
                    writer.uint32(56).uint32(message.slots);
                if (message.keyType != null && $Object.hasOwnProperty.call(message, "keyType") && message.keyType !== "")
                    writer.uint32(66).string(message.keyType);
                if (message.valueType != null && $Object.hasOwnProperty.call(message, "valueType") && message.valueType !== "")
                    writer.uint32(74).string(message.valueType);
                if (message.batchTokens != null && $Object.hasOwnProperty.call(message, "batchTokens") && message.batchTokens !== 0)
                    writer.uint32(80).uint32(message.batchTokens);
                if (message.deviceLayers != null && $Object.hasOwnProperty.call(message, "deviceLayers"))
                    writer.uint32(88).uint32(message.deviceLayers);
                if (message.keyValueCache != null && $Object.hasOwnProperty.call(message, "keyValueCache") && message.keyValueCache !== "")
                    writer.uint32(98).string(message.keyValueCache);
                if (message.activations != null && $Object.hasOwnProperty.call(message, "activations") && message.activations !== "")
                    writer.uint32(106).string(message.activations);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            LoadStage.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.LoadStage();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.role = value;
                            else
                                delete message.role;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.stageFile = value;
                            else
                                delete message.stageFile;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.embedding = $root.ringagent.runner.Embedding.decode(reader, reader.size(), $undefined, _depth + 1, message.embedding);
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.backend = value;
                            else
                                delete message.backend;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.threads = value;
                            else
                                delete message.threads;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.contextTokens = value;
                            else
                                delete message.contextTokens;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.slots = value;
                            else
                                delete message.slots;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.keyType = value;
                            else
                                delete message.keyType;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.valueType = value;
                            else
                                delete message.valueType;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.batchTokens = value;
                            else
                                delete message.batchTokens;
                            continue;
                        }
                    case 11: {
                            if (wireType !== 0)
                                break;
                            message.deviceLayers = reader.uint32();
                            message._deviceLayers = "deviceLayers";
                            continue;
                        }
                    case 12: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.keyValueCache = value;
                            else
                                delete message.keyValueCache;
                            continue;
                        }
                    case 13: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.activations = value;
                            else
                                delete message.activations;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return LoadStage;
        })();

        runner.LoadVocabulary = (function() {

            const LoadVocabulary = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            LoadVocabulary.prototype.headerFile = "";

            LoadVocabulary.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.headerFile != null && $Object.hasOwnProperty.call(message, "headerFile") && message.headerFile !== "")
                    writer.uint32(10).string(message.headerFile);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            LoadVocabulary.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.LoadVocabulary();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.headerFile = value;
                            else
                                delete message.headerFile;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return LoadVocabulary;
        })();

        runner.Tokenize = (function() {

            const Tokenize = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Tokenize.prototype.call = 0;
            Tokenize.prototype.text = "";
            Tokenize.prototype.addSpecial = false;
            Tokenize.prototype.parseSpecial = false;

            Tokenize.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.call != null && $Object.hasOwnProperty.call(message, "call") && message.call !== 0)
                    writer.uint32(8).uint32(message.call);
                if (message.text != null && $Object.hasOwnProperty.call(message, "text") && message.text !== "")
                    writer.uint32(18).string(message.text);
                if (message.addSpecial != null && $Object.hasOwnProperty.call(message, "addSpecial") && message.addSpecial !== false)
                    writer.uint32(24).bool(message.addSpecial);
                if (message.parseSpecial != null && $Object.hasOwnProperty.call(message, "parseSpecial") && message.parseSpecial !== false)
                    writer.uint32(32).bool(message.parseSpecial);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Tokenize.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Tokenize();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.call = value;
                            else
                                delete message.call;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.text = value;
                            else
                                delete message.text;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.addSpecial = value;
                            else
                                delete message.addSpecial;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.parseSpecial = value;
                            else
                                delete message.parseSpecial;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Tokenize;
        })();

        runner.CheckGrammar = (function() {

            const CheckGrammar = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            CheckGrammar.prototype.call = 0;
            CheckGrammar.prototype.text = "";

            CheckGrammar.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.call != null && $Object.hasOwnProperty.call(message, "call") && message.call !== 0)
                    writer.uint32(8).uint32(message.call);
                if (message.text != null && $Object.hasOwnProperty.call(message, "text") && message.text !== "")
                    writer.uint32(18).string(message.text);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            CheckGrammar.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.CheckGrammar();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.call = value;
                            else
                                delete message.call;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.text = value;
                            else
                                delete message.text;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return CheckGrammar;
        })();

        runner.ProbeDevices = (function() {

            const ProbeDevices = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            ProbeDevices.prototype.backend = "";

            ProbeDevices.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.backend != null && $Object.hasOwnProperty.call(message, "backend") && message.backend !== "")
                    writer.uint32(10).string(message.backend);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            ProbeDevices.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.ProbeDevices();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.backend = value;
                            else
                                delete message.backend;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return ProbeDevices;
        })();

        runner.Measure = (function() {

            const Measure = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Measure.prototype.backend = "";
            Measure.prototype.directory = "";
            Measure.prototype.threads = 0;

            Measure.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.backend != null && $Object.hasOwnProperty.call(message, "backend") && message.backend !== "")
                    writer.uint32(10).string(message.backend);
                if (message.directory != null && $Object.hasOwnProperty.call(message, "directory") && message.directory !== "")
                    writer.uint32(18).string(message.directory);
                if (message.threads != null && $Object.hasOwnProperty.call(message, "threads") && message.threads !== 0)
                    writer.uint32(24).uint32(message.threads);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Measure.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Measure();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.backend = value;
                            else
                                delete message.backend;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.directory = value;
                            else
                                delete message.directory;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.threads = value;
                            else
                                delete message.threads;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Measure;
        })();

        runner.Convert = (function() {

            const Convert = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Convert.prototype.sourceFile = "";
            Convert.prototype.targetFile = "";
            Convert.prototype.precision = "";

            Convert.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.sourceFile != null && $Object.hasOwnProperty.call(message, "sourceFile") && message.sourceFile !== "")
                    writer.uint32(10).string(message.sourceFile);
                if (message.targetFile != null && $Object.hasOwnProperty.call(message, "targetFile") && message.targetFile !== "")
                    writer.uint32(18).string(message.targetFile);
                if (message.precision != null && $Object.hasOwnProperty.call(message, "precision") && message.precision !== "")
                    writer.uint32(26).string(message.precision);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Convert.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Convert();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.sourceFile = value;
                            else
                                delete message.sourceFile;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.targetFile = value;
                            else
                                delete message.targetFile;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.precision = value;
                            else
                                delete message.precision;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Convert;
        })();

        runner.Reset = (function() {

            const Reset = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Reset.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Reset.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Reset();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    reader.skipType(tag & 7, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Reset;
        })();

        runner.ToRunner = (function() {

            const ToRunner = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            ToRunner.prototype.loadStage = null;
            ToRunner.prototype.loadVocabulary = null;
            ToRunner.prototype.tokenize = null;
            ToRunner.prototype.probeDevices = null;
            ToRunner.prototype.reset = null;
            ToRunner.prototype.measure = null;
            ToRunner.prototype.convert = null;
            ToRunner.prototype.checkGrammar = null;

            let $oneOfFields;

            $Object.defineProperty(ToRunner.prototype, "kind", {
                get: $util.oneOfGetter($oneOfFields = ["loadStage", "loadVocabulary", "tokenize", "probeDevices", "reset", "measure", "convert", "checkGrammar"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            ToRunner.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.loadStage != null && $Object.hasOwnProperty.call(message, "loadStage"))
                    $root.ringagent.runner.LoadStage.encode(message.loadStage, writer.uint32(10).fork(), _depth + 1).ldelim();
                if (message.loadVocabulary != null && $Object.hasOwnProperty.call(message, "loadVocabulary"))
                    $root.ringagent.runner.LoadVocabulary.encode(message.loadVocabulary, writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.tokenize != null && $Object.hasOwnProperty.call(message, "tokenize"))
                    $root.ringagent.runner.Tokenize.encode(message.tokenize, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.probeDevices != null && $Object.hasOwnProperty.call(message, "probeDevices"))
                    $root.ringagent.runner.ProbeDevices.encode(message.probeDevices, writer.uint32(34).fork(), _depth + 1).ldelim();
                if (message.reset != null && $Object.hasOwnProperty.call(message, "reset"))
                    $root.ringagent.runner.Reset.encode(message.reset, writer.uint32(42).fork(), _depth + 1).ldelim();
                if (message.measure != null && $Object.hasOwnProperty.call(message, "measure"))
                    $root.ringagent.runner.Measure.encode(message.measure, writer.uint32(50).fork(), _depth + 1).ldelim();
                if (message.convert != null && $Object.hasOwnProperty.call(message, "convert"))
                    $root.ringagent.runner.Convert.encode(message.convert, writer.uint32(58).fork(), _depth + 1).ldelim();
                if (message.checkGrammar != null && $Object.hasOwnProperty.call(message, "checkGrammar"))
                    $root.ringagent.runner.CheckGrammar.encode(message.checkGrammar, writer.uint32(66).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            ToRunner.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.ToRunner();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            message.loadStage = $root.ringagent.runner.LoadStage.decode(reader, reader.size(), $undefined, _depth + 1, message.loadStage);
                            message.kind = "loadStage";
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.loadVocabulary = $root.ringagent.runner.LoadVocabulary.decode(reader, reader.size(), $undefined, _depth + 1, message.loadVocabulary);
                            message.kind = "loadVocabulary";
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.tokenize = $root.ringagent.runner.Tokenize.decode(reader, reader.size(), $undefined, _depth + 1, message.tokenize);
                            message.kind = "tokenize";
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            message.probeDevices = $root.ringagent.runner.ProbeDevices.decode(reader, reader.size(), $undefined, _depth + 1, message.probeDevices);
                            message.kind = "probeDevices";
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            message.reset = $root.ringagent.runner.Reset.decode(reader, reader.size(), $undefined, _depth + 1, message.reset);
                            message.kind = "reset";
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.measure = $root.ringagent.runner.Measure.decode(reader, reader.size(), $undefined, _depth + 1, message.measure);
                            message.kind = "measure";
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            message.convert = $root.ringagent.runner.Convert.decode(reader, reader.size(), $undefined, _depth + 1, message.convert);
                            message.kind = "convert";
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            message.checkGrammar = $root.ringagent.runner.CheckGrammar.decode(reader, reader.size(), $undefined, _depth + 1, message.checkGrammar);
                            message.kind = "checkGrammar";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return ToRunner;
        })();

        runner.Loaded = (function() {

            const Loaded = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Loaded.prototype.hiddenSize = 0;
            Loaded.prototype.layers = 0;
            Loaded.prototype.vocabularySize = 0;
            Loaded.prototype.residentBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Loaded.prototype.canRollBack = false;

            Loaded.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.hiddenSize != null && $Object.hasOwnProperty.call(message, "hiddenSize") && message.hiddenSize !== 0)
                    writer.uint32(8).uint32(message.hiddenSize);
                if (message.layers != null && $Object.hasOwnProperty.call(message, "layers") && message.layers !== 0)
                    writer.uint32(16).uint32(message.layers);
                if (message.vocabularySize != null && $Object.hasOwnProperty.call(message, "vocabularySize") && message.vocabularySize !== 0)
                    writer.uint32(24).uint32(message.vocabularySize);
                if (message.residentBytes != null && $Object.hasOwnProperty.call(message, "residentBytes") && (typeof message.residentBytes === "object" ? message.residentBytes.low || message.residentBytes.high : message.residentBytes !== 0))
                    writer.uint32(32).uint64(message.residentBytes);
                if (message.canRollBack != null && $Object.hasOwnProperty.call(message, "canRollBack") && message.canRollBack !== false)
                    writer.uint32(40).bool(message.canRollBack);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Loaded.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Loaded();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.hiddenSize = value;
                            else
                                delete message.hiddenSize;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.layers = value;
                            else
                                delete message.layers;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.vocabularySize = value;
                            else
                                delete message.vocabularySize;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.residentBytes = value;
                            else
                                delete message.residentBytes;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.canRollBack = value;
                            else
                                delete message.canRollBack;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Loaded;
        })();

        runner.Vocabulary = (function() {

            const Vocabulary = function (properties) {
                this.lengths = [];
                this.endOfGeneration = [];
                this.controlTokens = [];
                this.controlTexts = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Vocabulary.prototype.pieces = $util.newBuffer([]);
            Vocabulary.prototype.lengths = $util.emptyArray;
            Vocabulary.prototype.endOfGeneration = $util.emptyArray;
            Vocabulary.prototype.bos = 0;
            Vocabulary.prototype.eos = 0;
            Vocabulary.prototype.addsBos = false;
            Vocabulary.prototype.controlTokens = $util.emptyArray;
            Vocabulary.prototype.controlTexts = $util.emptyArray;

            Vocabulary.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.pieces != null && $Object.hasOwnProperty.call(message, "pieces") && message.pieces.length)
                    writer.uint32(10).bytes(message.pieces);
                if (message.lengths != null && message.lengths.length)
                    writer.uint32(18).uint32s(message.lengths);
                if (message.endOfGeneration != null && message.endOfGeneration.length)
                    writer.uint32(26).uint32s(message.endOfGeneration);
                if (message.bos != null && $Object.hasOwnProperty.call(message, "bos") && message.bos !== 0)
                    writer.uint32(32).sint32(message.bos);
                if (message.eos != null && $Object.hasOwnProperty.call(message, "eos") && message.eos !== 0)
                    writer.uint32(40).sint32(message.eos);
                if (message.addsBos != null && $Object.hasOwnProperty.call(message, "addsBos") && message.addsBos !== false)
                    writer.uint32(48).bool(message.addsBos);
                if (message.controlTokens != null && message.controlTokens.length)
                    writer.uint32(58).uint32s(message.controlTokens);
                if (message.controlTexts != null && message.controlTexts.length)
                    for (let i = 0; i < message.controlTexts.length; ++i)
                        writer.uint32(66).string(message.controlTexts[i]);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Vocabulary.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Vocabulary();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.pieces = value;
                            else
                                delete message.pieces;
                            continue;
                        }
                    case 2: {
                            if (wireType === 2) {
                                if (!(message.lengths && message.lengths.length))
                                    message.lengths = [];
                                reader.uint32s(message.lengths);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.lengths && message.lengths.length))
                                message.lengths = [];
                            message.lengths.push(reader.uint32());
                            continue;
                        }
                    case 3: {
                            if (wireType === 2) {
                                if (!(message.endOfGeneration && message.endOfGeneration.length))
                                    message.endOfGeneration = [];
                                reader.uint32s(message.endOfGeneration);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.endOfGeneration && message.endOfGeneration.length))
                                message.endOfGeneration = [];
                            message.endOfGeneration.push(reader.uint32());
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.sint32())
                                message.bos = value;
                            else
                                delete message.bos;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.sint32())
                                message.eos = value;
                            else
                                delete message.eos;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.addsBos = value;
                            else
                                delete message.addsBos;
                            continue;
                        }
                    case 7: {
                            if (wireType === 2) {
                                if (!(message.controlTokens && message.controlTokens.length))
                                    message.controlTokens = [];
                                reader.uint32s(message.controlTokens);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.controlTokens && message.controlTokens.length))
                                message.controlTokens = [];
                            message.controlTokens.push(reader.uint32());
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            if (!(message.controlTexts && message.controlTexts.length))
                                message.controlTexts = [];
                            message.controlTexts.push(reader.stringVerify());
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Vocabulary;
        })();

        runner.Tokenized = (function() {

            const Tokenized = function (properties) {
                this.tokens = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Tokenized.prototype.call = 0;
            Tokenized.prototype.tokens = $util.emptyArray;

            Tokenized.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.call != null && $Object.hasOwnProperty.call(message, "call") && message.call !== 0)
                    writer.uint32(8).uint32(message.call);
                if (message.tokens != null && message.tokens.length)
                    writer.uint32(18).uint32s(message.tokens);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Tokenized.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Tokenized();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.call = value;
                            else
                                delete message.call;
                            continue;
                        }
                    case 2: {
                            if (wireType === 2) {
                                if (!(message.tokens && message.tokens.length))
                                    message.tokens = [];
                                reader.uint32s(message.tokens);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.tokens && message.tokens.length))
                                message.tokens = [];
                            message.tokens.push(reader.uint32());
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Tokenized;
        })();

        runner.Device = (function() {

            const Device = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Device.prototype.name = "";
            Device.prototype.description = "";
            Device.prototype.backend = "";
            Device.prototype.memoryTotalBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Device.prototype.memoryFreeBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Device.prototype.unified = false;

            Device.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.name != null && $Object.hasOwnProperty.call(message, "name") && message.name !== "")
                    writer.uint32(10).string(message.name);
                if (message.description != null && $Object.hasOwnProperty.call(message, "description") && message.description !== "")
                    writer.uint32(18).string(message.description);
                if (message.backend != null && $Object.hasOwnProperty.call(message, "backend") && message.backend !== "")
                    writer.uint32(26).string(message.backend);
                if (message.memoryTotalBytes != null && $Object.hasOwnProperty.call(message, "memoryTotalBytes") && (typeof message.memoryTotalBytes === "object" ? message.memoryTotalBytes.low || message.memoryTotalBytes.high : message.memoryTotalBytes !== 0))
                    writer.uint32(32).uint64(message.memoryTotalBytes);
                if (message.memoryFreeBytes != null && $Object.hasOwnProperty.call(message, "memoryFreeBytes") && (typeof message.memoryFreeBytes === "object" ? message.memoryFreeBytes.low || message.memoryFreeBytes.high : message.memoryFreeBytes !== 0))
                    writer.uint32(40).uint64(message.memoryFreeBytes);
                if (message.unified != null && $Object.hasOwnProperty.call(message, "unified") && message.unified !== false)
                    writer.uint32(48).bool(message.unified);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Device.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Device();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.name = value;
                            else
                                delete message.name;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.description = value;
                            else
                                delete message.description;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.backend = value;
                            else
                                delete message.backend;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.memoryTotalBytes = value;
                            else
                                delete message.memoryTotalBytes;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.memoryFreeBytes = value;
                            else
                                delete message.memoryFreeBytes;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.unified = value;
                            else
                                delete message.unified;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Device;
        })();

        runner.Devices = (function() {

            const Devices = function (properties) {
                this.devices = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Devices.prototype.version = "";
            Devices.prototype.libraryDirectory = "";
            Devices.prototype.devices = $util.emptyArray;

            Devices.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.version != null && $Object.hasOwnProperty.call(message, "version") && message.version !== "")
                    writer.uint32(10).string(message.version);
                if (message.libraryDirectory != null && $Object.hasOwnProperty.call(message, "libraryDirectory") && message.libraryDirectory !== "")
                    writer.uint32(18).string(message.libraryDirectory);
                if (message.devices != null && message.devices.length)
                    for (let i = 0; i < message.devices.length; ++i)
                        $root.ringagent.runner.Device.encode(message.devices[i], writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Devices.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Devices();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.version = value;
                            else
                                delete message.version;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.libraryDirectory = value;
                            else
                                delete message.libraryDirectory;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if (!(message.devices && message.devices.length))
                                message.devices = [];
                            message.devices.push($root.ringagent.runner.Device.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Devices;
        })();

        runner.Measured = (function() {

            const Measured = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Measured.prototype.gflops = 0;
            Measured.prototype.memoryBandwidthBytesPerSecond = 0;

            Measured.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.gflops != null && $Object.hasOwnProperty.call(message, "gflops") && !$Object.is(message.gflops, 0))
                    writer.uint32(9).double(message.gflops);
                if (message.memoryBandwidthBytesPerSecond != null && $Object.hasOwnProperty.call(message, "memoryBandwidthBytesPerSecond") && !$Object.is(message.memoryBandwidthBytesPerSecond, 0))
                    writer.uint32(17).double(message.memoryBandwidthBytesPerSecond);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Measured.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Measured();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 1)
                                break;
                            if (!$Object.is(value = reader.double(), 0))
                                message.gflops = value;
                            else
                                delete message.gflops;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 1)
                                break;
                            if (!$Object.is(value = reader.double(), 0))
                                message.memoryBandwidthBytesPerSecond = value;
                            else
                                delete message.memoryBandwidthBytesPerSecond;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Measured;
        })();

        runner.Converted = (function() {

            const Converted = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Converted.prototype.bytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            Converted.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.bytes != null && $Object.hasOwnProperty.call(message, "bytes") && (typeof message.bytes === "object" ? message.bytes.low || message.bytes.high : message.bytes !== 0))
                    writer.uint32(8).uint64(message.bytes);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Converted.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Converted();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.bytes = value;
                            else
                                delete message.bytes;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Converted;
        })();

        runner.Resident = (function() {

            const Resident = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Resident.prototype.bytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            Resident.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.bytes != null && $Object.hasOwnProperty.call(message, "bytes") && (typeof message.bytes === "object" ? message.bytes.low || message.bytes.high : message.bytes !== 0))
                    writer.uint32(8).uint64(message.bytes);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Resident.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Resident();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.bytes = value;
                            else
                                delete message.bytes;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Resident;
        })();

        runner.Failed = (function() {

            const Failed = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Failed.prototype.code = "";
            Failed.prototype.message = "";
            Failed.prototype.step = 0;
            Failed.prototype.call = 0;

            Failed.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.code != null && $Object.hasOwnProperty.call(message, "code") && message.code !== "")
                    writer.uint32(10).string(message.code);
                if (message.message != null && $Object.hasOwnProperty.call(message, "message") && message.message !== "")
                    writer.uint32(18).string(message.message);
                if (message.step != null && $Object.hasOwnProperty.call(message, "step") && message.step !== 0)
                    writer.uint32(24).uint32(message.step);
                if (message.call != null && $Object.hasOwnProperty.call(message, "call") && message.call !== 0)
                    writer.uint32(32).uint32(message.call);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Failed.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.Failed();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.code = value;
                            else
                                delete message.code;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.message = value;
                            else
                                delete message.message;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.step = value;
                            else
                                delete message.step;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.call = value;
                            else
                                delete message.call;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Failed;
        })();

        runner.FromRunner = (function() {

            const FromRunner = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            FromRunner.prototype.loaded = null;
            FromRunner.prototype.vocabulary = null;
            FromRunner.prototype.tokenized = null;
            FromRunner.prototype.devices = null;
            FromRunner.prototype.resident = null;
            FromRunner.prototype.failed = null;
            FromRunner.prototype.wasReset = null;
            FromRunner.prototype.measured = null;
            FromRunner.prototype.converted = null;
            FromRunner.prototype.grammarChecked = null;

            let $oneOfFields;

            $Object.defineProperty(FromRunner.prototype, "kind", {
                get: $util.oneOfGetter($oneOfFields = ["loaded", "vocabulary", "tokenized", "devices", "resident", "failed", "wasReset", "measured", "converted", "grammarChecked"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            FromRunner.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.loaded != null && $Object.hasOwnProperty.call(message, "loaded"))
                    $root.ringagent.runner.Loaded.encode(message.loaded, writer.uint32(10).fork(), _depth + 1).ldelim();
                if (message.vocabulary != null && $Object.hasOwnProperty.call(message, "vocabulary"))
                    $root.ringagent.runner.Vocabulary.encode(message.vocabulary, writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.tokenized != null && $Object.hasOwnProperty.call(message, "tokenized"))
                    $root.ringagent.runner.Tokenized.encode(message.tokenized, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.devices != null && $Object.hasOwnProperty.call(message, "devices"))
                    $root.ringagent.runner.Devices.encode(message.devices, writer.uint32(34).fork(), _depth + 1).ldelim();
                if (message.resident != null && $Object.hasOwnProperty.call(message, "resident"))
                    $root.ringagent.runner.Resident.encode(message.resident, writer.uint32(42).fork(), _depth + 1).ldelim();
                if (message.failed != null && $Object.hasOwnProperty.call(message, "failed"))
                    $root.ringagent.runner.Failed.encode(message.failed, writer.uint32(50).fork(), _depth + 1).ldelim();
                if (message.wasReset != null && $Object.hasOwnProperty.call(message, "wasReset"))
                    writer.uint32(56).bool(message.wasReset);
                if (message.measured != null && $Object.hasOwnProperty.call(message, "measured"))
                    $root.ringagent.runner.Measured.encode(message.measured, writer.uint32(66).fork(), _depth + 1).ldelim();
                if (message.converted != null && $Object.hasOwnProperty.call(message, "converted"))
                    $root.ringagent.runner.Converted.encode(message.converted, writer.uint32(74).fork(), _depth + 1).ldelim();
                if (message.grammarChecked != null && $Object.hasOwnProperty.call(message, "grammarChecked"))
                    writer.uint32(80).uint32(message.grammarChecked);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            FromRunner.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.runner.FromRunner();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            message.loaded = $root.ringagent.runner.Loaded.decode(reader, reader.size(), $undefined, _depth + 1, message.loaded);
                            message.kind = "loaded";
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.vocabulary = $root.ringagent.runner.Vocabulary.decode(reader, reader.size(), $undefined, _depth + 1, message.vocabulary);
                            message.kind = "vocabulary";
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.tokenized = $root.ringagent.runner.Tokenized.decode(reader, reader.size(), $undefined, _depth + 1, message.tokenized);
                            message.kind = "tokenized";
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            message.devices = $root.ringagent.runner.Devices.decode(reader, reader.size(), $undefined, _depth + 1, message.devices);
                            message.kind = "devices";
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            message.resident = $root.ringagent.runner.Resident.decode(reader, reader.size(), $undefined, _depth + 1, message.resident);
                            message.kind = "resident";
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.failed = $root.ringagent.runner.Failed.decode(reader, reader.size(), $undefined, _depth + 1, message.failed);
                            message.kind = "failed";
                            continue;
                        }
                    case 7: {
                            if (wireType !== 0)
                                break;
                            message.wasReset = reader.bool();
                            message.kind = "wasReset";
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            message.measured = $root.ringagent.runner.Measured.decode(reader, reader.size(), $undefined, _depth + 1, message.measured);
                            message.kind = "measured";
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            message.converted = $root.ringagent.runner.Converted.decode(reader, reader.size(), $undefined, _depth + 1, message.converted);
                            message.kind = "converted";
                            continue;
                        }
                    case 10: {
                            if (wireType !== 0)
                                break;
                            message.grammarChecked = reader.uint32();
                            message.kind = "grammarChecked";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return FromRunner;
        })();

        return runner;
    })();

    ringagent.weights = (function() {

        const weights = {};

        weights.Request = (function() {

            const Request = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Request.prototype.modelDigest = $util.newBuffer([]);
            Request.prototype.header = null;
            Request.prototype.tensor = null;

            let $oneOfFields;

            $Object.defineProperty(Request.prototype, "what", {
                get: $util.oneOfGetter($oneOfFields = ["header", "tensor"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            Request.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.modelDigest != null && $Object.hasOwnProperty.call(message, "modelDigest") && message.modelDigest.length)
                    writer.uint32(10).bytes(message.modelDigest);
                if (message.header != null && $Object.hasOwnProperty.call(message, "header"))
                    $root.ringagent.weights.Header.encode(message.header, writer.uint32(18).fork(), _depth + 1).ldelim();
                if (message.tensor != null && $Object.hasOwnProperty.call(message, "tensor"))
                    $root.ringagent.weights.Tensor.encode(message.tensor, writer.uint32(26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Request.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.weights.Request();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.modelDigest = value;
                            else
                                delete message.modelDigest;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.header = $root.ringagent.weights.Header.decode(reader, reader.size(), $undefined, _depth + 1, message.header);
                            message.what = "header";
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.tensor = $root.ringagent.weights.Tensor.decode(reader, reader.size(), $undefined, _depth + 1, message.tensor);
                            message.what = "tensor";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Request;
        })();

        weights.Header = (function() {

            const Header = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Header.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Header.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.weights.Header();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    reader.skipType(tag & 7, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Header;
        })();

        weights.Tensor = (function() {

            const Tensor = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Tensor.prototype.name = "";
            Tensor.prototype.offset = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Tensor.prototype.describeOnly = false;

            Tensor.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.name != null && $Object.hasOwnProperty.call(message, "name") && message.name !== "")
                    writer.uint32(10).string(message.name);
                if (message.offset != null && $Object.hasOwnProperty.call(message, "offset") && (typeof message.offset === "object" ? message.offset.low || message.offset.high : message.offset !== 0))
                    writer.uint32(16).uint64(message.offset);
                if (message.describeOnly != null && $Object.hasOwnProperty.call(message, "describeOnly") && message.describeOnly !== false)
                    writer.uint32(24).bool(message.describeOnly);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Tensor.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.weights.Tensor();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.name = value;
                            else
                                delete message.name;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.offset = value;
                            else
                                delete message.offset;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.describeOnly = value;
                            else
                                delete message.describeOnly;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Tensor;
        })();

        weights.Response = (function() {

            const Response = function (properties) {
                this.fileBytes = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Response.prototype.found = false;
            Response.prototype.name = "";
            Response.prototype.sizeBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Response.prototype.sha256 = $util.newBuffer([]);
            Response.prototype.fileBytes = $util.emptyArray;
            Response.prototype.contentBytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
            Response.prototype.problem = "";

            Response.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.found != null && $Object.hasOwnProperty.call(message, "found") && message.found !== false)
                    writer.uint32(8).bool(message.found);
                if (message.name != null && $Object.hasOwnProperty.call(message, "name") && message.name !== "")
                    writer.uint32(18).string(message.name);
                if (message.sizeBytes != null && $Object.hasOwnProperty.call(message, "sizeBytes") && (typeof message.sizeBytes === "object" ? message.sizeBytes.low || message.sizeBytes.high : message.sizeBytes !== 0))
                    writer.uint32(24).uint64(message.sizeBytes);
                if (message.sha256 != null && $Object.hasOwnProperty.call(message, "sha256") && message.sha256.length)
                    writer.uint32(34).bytes(message.sha256);
                if (message.fileBytes != null && message.fileBytes.length)
                    writer.uint32(42).uint64s(message.fileBytes);
                if (message.contentBytes != null && $Object.hasOwnProperty.call(message, "contentBytes") && (typeof message.contentBytes === "object" ? message.contentBytes.low || message.contentBytes.high : message.contentBytes !== 0))
                    writer.uint32(48).uint64(message.contentBytes);
                if (message.problem != null && $Object.hasOwnProperty.call(message, "problem") && message.problem !== "")
                    writer.uint32(58).string(message.problem);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Response.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.weights.Response();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.found = value;
                            else
                                delete message.found;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.name = value;
                            else
                                delete message.name;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.sizeBytes = value;
                            else
                                delete message.sizeBytes;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.sha256 = value;
                            else
                                delete message.sha256;
                            continue;
                        }
                    case 5: {
                            if (wireType === 2) {
                                if (!(message.fileBytes && message.fileBytes.length))
                                    message.fileBytes = [];
                                reader.uint64s(message.fileBytes);
                                continue;
                            }
                            if (wireType !== 0)
                                break;
                            if (!(message.fileBytes && message.fileBytes.length))
                                message.fileBytes = [];
                            message.fileBytes.push(reader.uint64());
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.contentBytes = value;
                            else
                                delete message.contentBytes;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.problem = value;
                            else
                                delete message.problem;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Response;
        })();

        weights.Edge = (function() {

            const Edge = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Edge.prototype.planId = "";
            Edge.prototype.rank = 0;

            Edge.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.planId != null && $Object.hasOwnProperty.call(message, "planId") && message.planId !== "")
                    writer.uint32(10).string(message.planId);
                if (message.rank != null && $Object.hasOwnProperty.call(message, "rank") && message.rank !== 0)
                    writer.uint32(16).uint32(message.rank);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Edge.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.weights.Edge();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.planId = value;
                            else
                                delete message.planId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.rank = value;
                            else
                                delete message.rank;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Edge;
        })();

        weights.Opened = (function() {

            const Opened = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Opened.prototype.code = "";
            Opened.prototype.message = "";

            Opened.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.code != null && $Object.hasOwnProperty.call(message, "code") && message.code !== "")
                    writer.uint32(10).string(message.code);
                if (message.message != null && $Object.hasOwnProperty.call(message, "message") && message.message !== "")
                    writer.uint32(18).string(message.message);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Opened.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.ringagent.weights.Opened();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.code = value;
                            else
                                delete message.code;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.message = value;
                            else
                                delete message.message;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Opened;
        })();

        return weights;
    })();

    return ringagent;
})();

export {
  $root as default
};
