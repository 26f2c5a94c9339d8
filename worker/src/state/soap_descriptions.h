/*
 * Descriptions (WSDL) that ext/soap keeps in the process's memory, with soap.wsdl_cache or the option cache_wsdl.
 */
#ifndef HOWDAH_SOAP_DESCRIPTIONS_H
#define HOWDAH_SOAP_DESCRIPTIONS_H

/* Called once, after all modules have started and before their methods are wrapped for another purpose. */
void howdah_soap_descriptions_startup(void);

#endif
