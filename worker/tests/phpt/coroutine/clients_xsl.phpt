--TEST--
Coroutines: an XSLTProcessor of the boot is used by one request at a time, and keeps the parameters of one
--EXTENSIONS--
dom
xsl
--FILE--
<?php
function id(array $nodes): string
{
    usleep(1000);
    return $nodes[0]->getAttribute('id');
}

$sheet = new DOMDocument();
$sheet->loadXML(<<<'XML'
    <xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:php="http://php.net/xsl">
      <xsl:output method="text"/>
      <xsl:param name="who"/>
      <xsl:template match="/">
        <xsl:for-each select="//i"><xsl:value-of select="php:function('id', .)"/></xsl:for-each>
        <xsl:value-of select="$who"/>
      </xsl:template>
    </xsl:stylesheet>
    XML);
$document = new DOMDocument();
$document->loadXML('<r><i id="1"/><i id="2"/><i id="3"/></r>');
$processor = new XSLTProcessor();
$processor->registerPHPFunctions();
$processor->importStylesheet($sheet);
while (frankenphp_handle_request(static function () use ($document, $processor): void {
    $texts = [];
    for ($i = 0; $i < 5; $i++) {
        if ($i > 0) {
            $processor->setParameter('', 'who', ' ' . $_GET['n']);
            usleep(1000);
        }
        $texts[$i ? $processor->transformToXml($document) : substr($processor->transformToXml($document), 0, 3)] = true;
    }
    echo implode(', ', array_keys($texts));
})) {
}
--HOWDAH--
option concurrency 3
worker {ROOT}/test.php
var QUERY_STRING n=one
push one
var QUERY_STRING n=two
push two
var QUERY_STRING n=three
push three
await one
await two
await three
stop
--EXPECT--
one: 123, 123 one
two: 123, 123 two
three: 123, 123 three
